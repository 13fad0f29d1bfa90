"""The output of PyTorch's own torchgen for an operator, from the torchgen that is installed with torch.

torchgen reads whole files, which takes half a minute. Here it gets only the entries of one family, in a temporary
folder, and the code for the operator is cut out of its output. Only this module needs torchgen.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.explain.codegen import generated_files
from dispatchviz.explain.codegen.torchgen_cuts import pieces_of
from dispatchviz.explain.codegen.torchgen_texts import Real
from dispatchviz.explain.codegen.torchgen_yaml import Entries, Yaml, packaged
from dispatchviz.foundation.errors import DispatchvizError


def real(op: OperatorEntry) -> Real:
    """Run torchgen for an operator.

    Raise DispatchvizError without torchgen, or if it does not have the operator.
    """
    source = packaged()
    name = op.name.removeprefix("aten::")
    entries = tuple(Entries(source).of(name))
    if not entries or not op.name.startswith("aten::"):
        raise DispatchvizError(f"torchgen generates nothing for {op.name}: it has no entry in native_functions.yaml")
    with tempfile.TemporaryDirectory() as folder:
        stem = generated_files.root_name(name.partition(".")[0]).strip("_")
        try:
            generate(source, Path(folder), lambda yaml: yaml.of_families(stem))
        except AssertionError as error:  # this family needs another one
            reason = str(error).partition("\n")[0]
            raise DispatchvizError(f"torchgen cannot generate {op.name} without all other entries: {reason}") from None
        pieces, group = tuple(pieces_of(op, Path(folder))), groups(Path(folder)).get(name, ())
    return Real(importlib.metadata.version("torch"), entries, pieces, group)


def generate(packaged: Path, folder: Path, chosen: Callable[[Yaml], str]) -> None:
    """Run both generators on the chosen entries of a file. Their output is in ``aten`` and ``autograd``.

    PyTorch's build runs them as two programs, because torchgen's drops the keys of backends that are not built, and
    autograd's must have them.
    """
    source, tools = folder / "source", folder / "tools"
    (source / "native").mkdir(parents=True)
    tools.mkdir()
    shutil.copytree(packaged / "ATen/templates", source / "templates")
    shutil.copytree(packaged / "autograd/templates", tools / "templates")
    native = chosen(Yaml(packaged / "ATen/native/native_functions.yaml"))
    (source / "native/native_functions.yaml").write_text(native, encoding="utf-8")
    shutil.copy(packaged / "ATen/native/tags.yaml", source / "native/tags.yaml")
    for name in ("derivatives.yaml", "deprecated.yaml"):
        (tools / name).write_text(chosen(Yaml(packaged / "autograd" / name)), encoding="utf-8")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        _run_autograds(source, tools, folder / "autograd")
        _run_torchgens(source, folder)


def _run_autograds(source: Path, tools: Path, out: Path) -> None:
    from torchgen.packaged.autograd import gen_autograd, gen_python_functions
    from torchgen.selective_build.selector import SelectiveBuilder

    out.mkdir()
    native, tags = str(source / "native/native_functions.yaml"), str(source / "native/tags.yaml")
    given = (native, tags, str(out), str(tools))
    gen_autograd.gen_autograd(*given, SelectiveBuilder.get_nop_selector())
    gen_autograd.gen_autograd_python(*given)
    gen_python_functions.gen(str(out), native, tags, str(tools / "deprecated.yaml"), str(tools / "templates"))


def _run_torchgens(source: Path, folder: Path) -> None:
    """Run both programs and restore torchgen's tables, so that they can run again."""
    from torchgen import gen, model

    gen._GLOBAL_PARSE_NATIVE_YAML_CACHE.clear()
    argv, keys = sys.argv, [*model.dispatch_keys]
    words = [f"--source-path={source}", f"--install_dir={folder / 'aten'}", f"--aoti-install-dir={folder / 'aoti'}"]
    try:
        sys.argv = ["torchgen", *words, "--per-operator-headers", "--generate", "headers", "sources"]
        gen.main()
    finally:
        sys.argv = argv
        model.dispatch_keys[:] = keys
        gen._GLOBAL_PARSE_NATIVE_YAML_CACHE.clear()


def groups(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the operators that torchgen groups with each operator, for the entries in a folder."""
    from torchgen.gen import get_grouped_native_functions, parse_native_yaml
    from torchgen.model import NativeFunctionsGroup

    native = folder / "source/native"
    parsed = parse_native_yaml(str(native / "native_functions.yaml"), str(native / "tags.yaml"))
    found: dict[str, tuple[str, ...]] = {}
    for group in get_grouped_native_functions(parsed.native_functions):
        if isinstance(group, NativeFunctionsGroup):
            names = tuple(str(function.func.name) for function in group.functions())
            found |= dict.fromkeys(names, names)
    return found
