"""What PyTorch's own torchgen generates for an operator: by the torchgen that is installed with torch.

torchgen reads whole files and takes half a minute for them. Here it is given the entries of one family only, in a
folder that goes away, and what it writes for the operator is cut out. Needs torchgen; everything else in this package
does not.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import io
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.errors import DispatchvizError
from dispatchviz.explain.codegen import generated_files
from dispatchviz.explain.codegen.cpp_blocks import blocks

BALLAST = ("abs", "empty", "as_strided", "as_strided_copy")
"""Families always given to torchgen: it cannot do without a derivative, and leaves out keys that no entry names
(``empty`` names Meta, ``as_strided_`` CompositeExplicitAutogradNonFunctional)."""


@dataclass(frozen=True, slots=True)
class RealPiece:
    """Something that torchgen wrote, or read."""

    file: str
    """As PyTorch's build calls it: ``build/aten/src/ATen/RegisterCPU_0.cpp``."""
    text: str


@dataclass(frozen=True, slots=True)
class Real:
    """torchgen's answer."""

    version: str
    """Of the torch that torchgen came with."""
    entries: tuple[RealPiece, ...]
    pieces: tuple[RealPiece, ...]

    def of(self, place: str) -> list[RealPiece]:
        """Those in one file, which may be given with a line."""
        return [piece for piece in self.pieces if piece.file == place.rpartition(":")[0] or piece.file == place]


def real(op: OperatorEntry, node: str) -> Real:
    """Runs torchgen for an operator; ``node`` is the Node that its autograd kernel makes, if any.

    DispatchvizError without torchgen, or if it has no such operator.
    """
    packaged = _packaged()
    name = op.name.removeprefix("aten::")
    functions = _Yaml(packaged / "ATen/native/native_functions.yaml")
    derivatives = _Yaml(packaged / "autograd/derivatives.yaml")
    entries = tuple(_entries(name, functions, derivatives))
    if not entries or not op.name.startswith("aten::"):
        raise DispatchvizError(f"torchgen generates nothing for {op.name}: it has no entry in native_functions.yaml")
    with tempfile.TemporaryDirectory() as folder:
        try:
            _generate(packaged, Path(folder), generated_files.root_name(name.partition(".")[0]).strip("_"))
        except AssertionError as error:  # a family that cannot do without another
            said = str(error).partition("\n")[0]
            raise DispatchvizError(f"torchgen cannot generate {op.name} without all other entries: {said}") from None
        pieces = tuple(_pieces(op, node, Path(folder)))
    return Real(importlib.metadata.version("torch"), entries, pieces)


def _packaged() -> Path:
    """The folder with PyTorch's yaml files and templates. DispatchvizError without torchgen."""
    found = importlib.util.find_spec("torchgen")
    if found is None or not found.submodule_search_locations:
        raise DispatchvizError(
            "--real needs torchgen, PyTorch's code generator, which is installed with torch: "
            f"install torch (2.13) for this Python, {sys.executable}, and try again"
        )
    return Path(found.submodule_search_locations[0]) / "packaged"


class _Yaml:
    """A yaml file of torchgen's as the texts of its entries."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parts = re.split(r"^(?=- )", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]

    def of_family(self, stem: str) -> str:
        """The entries of the families whose Nodes may have one stem, view copies and the ballast."""
        wanted = (stem, f"{stem}_copy", stem.removeprefix("foreach_"), *BALLAST)
        kept = [
            part for part in self.parts if generated_files.root_name(_head(part).partition(".")[0]).strip("_") in wanted
        ]
        return "".join(kept) or "[]"

    def entry(self, name: str) -> str:
        """One entry, or the one that it is generated from, without what follows it; empty if there is none."""
        made = re.compile(rf"^  autogen: (?:.*[ ,])?{re.escape(name)}(?:,|\s|$)", re.MULTILINE)
        found = (part for test in (lambda part: _head(part) == name, made.search) for part in self.parts if test(part))
        part = next(found, "")
        return re.split(r"^(?=[^\s-])", part, flags=re.MULTILINE)[0].rstrip()


def _head(part: str) -> str:
    found = re.match(r"- (?:func|name): ([\w.]+)\(", part)
    return found[1] if found else ""


def _entries(name: str, functions: _Yaml, derivatives: _Yaml) -> Iterator[RealPiece]:
    own = functions.entry(name)
    if own:
        yield RealPiece("aten/src/ATen/native/native_functions.yaml", own)
        delegate = re.search(r"^  structured_delegate: (.*)$", own, re.MULTILINE)
        if delegate:
            yield RealPiece("aten/src/ATen/native/native_functions.yaml", functions.entry(delegate[1].strip()))
        base, dot, overload = name.partition(".")
        derivative = derivatives.entry(name) or derivatives.entry(f"{base.removesuffix('_')}{dot}{overload}")
        if derivative:
            yield RealPiece("tools/autograd/derivatives.yaml", derivative)


def _generate(packaged: Path, folder: Path, stem: str) -> None:
    """Runs both generators on the entries of a family; what they write is in ``aten`` and ``autograd``."""
    from torchgen.gen import main
    from torchgen.packaged.autograd import gen_autograd, gen_python_functions
    from torchgen.selective_build.selector import SelectiveBuilder

    source, tools = folder / "source", folder / "tools"
    (source / "native").mkdir(parents=True)
    tools.mkdir()
    shutil.copytree(packaged / "ATen/templates", source / "templates")
    shutil.copytree(packaged / "autograd/templates", tools / "templates")
    native, tags = source / "native/native_functions.yaml", source / "native/tags.yaml"
    native.write_text(_Yaml(packaged / "ATen/native/native_functions.yaml").of_family(stem), encoding="utf-8")
    shutil.copy(packaged / "ATen/native/tags.yaml", tags)
    for name in ("derivatives.yaml", "deprecated.yaml"):
        (tools / name).write_text(_Yaml(packaged / "autograd" / name).of_family(stem), encoding="utf-8")
    out = folder / "autograd"
    out.mkdir()
    words = [f"--source-path={source}", f"--install_dir={folder / 'aten'}", f"--aoti-install-dir={folder / 'aoti'}"]
    argv = sys.argv
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            sys.argv = ["torchgen", *words, "--per-operator-headers", "--generate", "headers", "sources"]
            main()
        finally:
            sys.argv = argv
        given = (str(native), str(tags), str(out), str(tools))
        gen_autograd.gen_autograd(*given, SelectiveBuilder.get_nop_selector())
        gen_autograd.gen_autograd_python(*given)
        gen_python_functions.gen(str(out), *given[:2], str(tools / "deprecated.yaml"), str(tools / "templates"))


def _pieces(op: OperatorEntry, node: str, folder: Path) -> Iterator[RealPiece]:
    """The operator's part of every file."""
    for path, place in (
        *_files(folder / "aten", generated_files.ATEN),
        *_files(folder / "autograd", generated_files.AUTOGRAD),
    ):
        text = path.read_text(encoding="utf-8")
        found = [block for head in _heads(op, node, path.name) for block in blocks(text, head)]
        yield from (RealPiece(place, block) for block in (*_structs(text, found), *found))


def _structs(text: str, found: list[str]) -> Iterator[str]:
    """The classes of the structured kernels that wrappers make: they say where outputs come from."""
    for block in found:
        for name in dict.fromkeys(re.findall(r"^(structured_\w+) op\b", block, re.MULTILINE)):
            yield from blocks(text, rf"^struct {name}\b")


def _files(folder: Path, prefix: str) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".cpp", ".h", ".cu") and "Everything" not in path.name:
            yield path, f"{prefix}/{path.relative_to(folder).as_posix()}"


UNWRAPPED = ("RegisterFunctionalization", "RegisterBackendSelect")
"""Files with kernels that are called like the operator, not ``wrapper_...``."""


def _heads(op: OperatorEntry, node: str, file: str) -> Iterator[str]:
    """Regular expressions of what a file may have for the operator."""
    name = op.name.removeprefix("aten::")
    base, _, overload = name.partition(".")
    identifier = re.escape(name.replace(".", "_"))
    out = "_out" if any(a.kwarg_only and a.alias and a.alias.endswith("!") for a in op.schema.arguments) else ""
    called = re.escape(f"{base}{out}_{overload}" if overload else f"{base}{out}")
    stem = re.sub(r"(_\d+)?\.\w+$", "", file)
    if stem == "RegisterSchema":
        yield rf'm\.def\("{re.escape(name)}\('
    elif stem == "Operators":
        yield rf"\b{identifier}::(?:call|redispatch)\("
    elif file.endswith("_ops.h"):
        yield rf"^struct TORCH_API {identifier} "
    elif file.endswith("_meta.h"):
        yield rf"^struct TORCH_API structured_{re.escape(f'{base}_{overload}'.rstrip('_'))}\b"
    elif stem.startswith("Register") and stem not in UNWRAPPED:
        key = stem.removeprefix("Register")
        yield rf"\bwrapper_{key}_(?:{called}|{re.escape(overload)}_{re.escape(base + out)})\("
        yield rf'm\.impl\("{re.escape(name)}",'
    elif stem in ("VariableType", "ADInplaceOrViewType", "TraceType", *UNWRAPPED):
        yield rf"^(?!.*m\.impl).*\b{called}\((?:c10::DispatchKeySet|const|at::|c10::|int|double|bool|::std)"
        yield rf'm\.impl\("{re.escape(name)}",'
    elif stem == "Functions" and node:
        yield rf"^struct TORCH_API {node}\b" if file.endswith(".h") else rf"\b{node}(?:::apply|_apply_functional)\("
    elif stem.startswith("python_") and stem.endswith(("_functions", "_methods")):
        yield rf"^static PyObject \* THPVariable_{re.escape(base)}\(.*\{{?$"
