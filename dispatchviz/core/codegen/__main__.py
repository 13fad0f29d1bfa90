"""``python -m dispatchviz.core.codegen``: write ``core/generated``, or with ``--check`` list the stale files instead.

A build and an editable install do the first half of that (``hatch_build.py``): they write the files that follow from
the yaml files, for which PyYAML is enough. The other half, ``implemented.py``, is read off the running machine, so it
is kept in git.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from dispatchviz.core.codegen import (
    autograd,
    bindings,
    fixed_arity,
    implemented,
    native,
    operators,
    registers,
    return_types,
)
from dispatchviz.core.codegen.entries import SpecError
from dispatchviz.core.codegen.model import Specification, load

FOLDER = Path(__file__).parent.parent / "generated"
_BY_HAND = ("__init__.py", "operators.py")


def generate() -> dict[str, str]:
    """Return file names and texts of all files that follow from the yaml files. Raise SpecError for a mistake in one of
    them.
    """
    spec = load(native.FOLDER / "native_functions.yaml", native.FOLDER / "derivatives.yaml")
    return {f"{module}.py": text for module, text in _modules(spec)} | {"operators.pyi": operators.stub(spec)}


def _modules(spec: Specification) -> Iterator[tuple[str, str]]:
    yield "register_schema", operators.schemas(spec)
    yield from registers.texts(spec)
    yield "nodes", autograd.nodes(spec)
    yield "variable_type", autograd.variable_type(spec)
    yield "forward_mode", autograd.forward_mode(spec)
    yield "inplace_or_view", autograd.inplace_or_view(spec)
    yield "return_types", return_types.text(f for f in spec.functions.values() if f.base not in bindings.HIDDEN)
    yield "python_bindings", bindings.text(spec)
    yield "nn_functions", bindings.module_text(spec, "nn")
    yield "fft_functions", bindings.module_text(spec, "fft")
    yield "linalg_functions", bindings.module_text(spec, "linalg")
    yield "special_functions", bindings.module_text(spec, "special")
    yield "guarded_calls", fixed_arity.guarded_calls(spec)
    yield "recorded_calls", fixed_arity.recorded_calls(spec)


def stale() -> list[str]:
    """The files in ``core/generated`` that differ from what the yaml files, or the registrations, give."""
    expected = generate() | {implemented.NAME: implemented.text()}
    present = {name: path.read_text(encoding="utf-8") for name, path in _present().items()}
    return sorted(name for name in expected.keys() | present.keys() if expected.get(name) != present.get(name))


def _present() -> dict[str, Path]:
    """Names and paths of the generated files that exist."""
    found = (path for path in FOLDER.rglob("*.py*") if path.suffix in (".py", ".pyi") and path.name not in _BY_HAND)
    return {path.relative_to(FOLDER).as_posix(): path for path in found}


def write() -> None:
    """Write the files that follow from the yaml files, and delete others. Raise SpecError for a mistake in a yaml
    file.
    """
    expected = generate()
    for name, path in _present().items():
        if name not in expected and name != implemented.NAME:
            path.unlink(missing_ok=True)
    _write_changed(expected)


def _write_changed(texts: Mapping[str, str]) -> None:
    """Write the files whose text changed. Each file is replaced as a whole, since two installs may run at once."""
    for name, text in texts.items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            new = path.with_name(f"{path.name}.{os.getpid()}")
            new.write_text(text, encoding="utf-8")
            new.replace(path)


def main(argv: list[str]) -> int:
    """Return 0, or 1 if ``--check`` finds stale files, or 2 for a mistake in a yaml file."""
    try:
        if "--check" in argv:
            found = stale()
            print("\n".join(f"stale: core/generated/{name}" for name in found) or "core/generated is fresh")
            return 1 if found else 0
        write()
        _write_changed({implemented.NAME: implemented.text()})
    except SpecError as error:
        print(f"codegen: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
