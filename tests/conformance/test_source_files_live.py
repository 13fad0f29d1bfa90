"""The functions and files that rules name, looked up in an installed PyTorch: its libraries and headers."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.kinds.all_kinds import rule
from dispatchviz.explain.locations.native_files import FALLBACKS, native_calls, structured_file
from dispatchviz.running.program import run
from truth.observers.elf_symbols import Library
from truth.programs import PROGRAMS
from truth.recorders.native_calls import calls
from truth.recorders.native_files import files_by_function, library, lines

pytestmark = pytest.mark.torch

EXAMPLES = Path(__file__).parents[2] / "examples"
EACH = 25
"""The step between the stored programs that are checked, besides the examples."""

NOT_HERE = {
    "torchgen/dest/register_dispatch_key.py": "a generator",
    "tools/autograd/gen_variable_type.py": "a generator",
    "tools/autograd/derivatives.yaml": "what generators read",
}
"""Files that are in no library -> the reason."""

CUDA = re.compile(r"cuda|CUDA")
"""Names that a CPU build does not have."""

ANYWHERE = {
    "ForwardADLevel": "a class of which every function has another name",
    "SaveLocalDispatchKeySet": "a class whose constructor is inlined",
    "handle_torch_function_no_python_arg_parser": "in a namespace of templates",
}
"""Functions without a symbol -> the reason."""


@cache
def libraries() -> tuple[Library, ...]:
    torch = Path(pytest.importorskip("torch").__file__).parent
    return tuple(Library(torch / "lib" / name) for name in ("libtorch_cpu.so", "libtorch_python.so", "libc10.so"))


@cache
def objects() -> frozenset[str]:
    """Return the names of all files that were compiled."""
    return frozenset(each.name for found in libraries() for each in found.objects)


@cache
def symbols() -> bytes:
    """Return the names in all libraries, as the compiler writes them."""
    return b"".join(found.names for found in libraries())


def headers() -> Path:
    return Path(pytest.importorskip("torch").__file__).parent / "include"


@pytest.mark.pinned
def test_the_table_of_meta_and_impl_functions_is_the_library_s() -> None:
    found = files_by_function()
    assert len(found) > 500
    assert {name: structured_file(name) for name in found} == found
    assert all(": " in line for line in lines(found))


def test_the_stored_calls_of_meta_and_impl_functions_are_pytorchs() -> None:
    found = calls()
    assert len(found) > 300
    assert {name: set(native_calls(name)) for name in found} == found
    assert native_calls("structured_mm_out_cpu::impl") == ()


def test_torchgen_writes_the_impl_of_add() -> None:
    assert {"UfuncCPU_add.cpp", "UfuncCPUKernel_add.cpp.DEFAULT.cpp"} <= objects()


def test_fallbacks_are_in_the_recorded_files() -> None:
    found = library()
    functions = {function.name: function for function in found.functions}
    for name, path in FALLBACKS.items():
        full = next((full for full in functions if _named(full, name)), None)
        if full is None:
            assert path.rpartition("/")[2] in objects(), name
            continue
        numbers = [each.number for each in found.objects_at(functions[full].address)]
        between = found.objects[min(numbers) : max(numbers) + 1]
        assert path.rpartition("/")[2] in {each.name for each in between}, name


def _named(full: str, name: str) -> bool:
    """Return whether a full name is the function. The older vmap's has its namespace; the other one is in
    at::functorch.
    """
    if name == "batchedTensorForLoopFallback":
        return full == f"at::functorch::{name}"
    return full == name or full.endswith(f"::{name}")


def recorded() -> Iterator[tuple[str, str, str]]:
    """Yield the kind of event, the function and the file. Kernels are omitted, since registrations name their file."""
    sources = [path.read_text("utf-8") for path in sorted(EXAMPLES.glob("*.py"))]
    sources += [PROGRAMS[name] for name in sorted(PROGRAMS)[::EACH]]
    seen: set[tuple[str, str, str]] = set()
    for source in sources:
        for event in _traced(source):
            found = rule(event)
            location = (type(event).__name__, found.function, found.file)
            if location not in seen and not isinstance(event, ev.KernelEntered):
                seen.add(location)
                yield location


def _traced(source: str) -> Iterator[ev.AnyEvent]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        script = Path(folder) / "script.py"
        script.write_text(source, encoding="utf-8")
        yield from run(str(script), (), io.StringIO()).trace


@pytest.mark.pinned
def test_every_function_and_file_of_a_rule_exists() -> None:
    checked = [(f"{kind}: {function} in {file}", _wrong(function, file)) for kind, function, file in recorded()]
    wrong = [f"{location}: {why}" for location, why in checked if why]
    assert not wrong, "\n".join(sorted(set(wrong)))


def _wrong(function: str, file: str) -> str:
    """Return the error of a function and file, or an empty string."""
    if not file:
        return "has no file" if function and not CUDA.search(function) else ""
    if file in NOT_HERE or file.endswith((".cu", ".py")) or CUDA.search(file):
        return ""
    full = function.replace("(anonymous namespace)::", "").partition(" ")[0]
    name = full.removesuffix("::operator()").rpartition("::")[2]  # which is spelled otherwise in symbols
    if file.endswith(".h"):
        return _wrong_header(name, file)
    if not file.endswith(".cpp"):
        return "is no file"
    if file.rpartition("/")[2] not in objects():
        return "was not compiled"
    spelled = f"{len(name)}{name}".encode()
    return "" if not name or name in ANYWHERE or spelled in symbols() or _constructor(function) else "is no symbol"


def _constructor(function: str) -> bool:
    """Return whether a class, or its constructor, exists, which has a name of its own in symbols."""
    parts = function.split("::")
    return (
        f"{len(parts[-1])}{parts[-1]}C2E".encode() in symbols()
        or f"{len(parts[-1])}{parts[-1]}C1E".encode() in symbols()
    )


def _wrong_header(name: str, file: str) -> str:
    path = headers() / file.removeprefix("aten/src/").removeprefix("build/aten/src/")
    if not path.exists():
        return "is no header"
    return "" if not name or re.search(rf"\b{re.escape(name)}\b", path.read_text("utf-8")) else "is not in the header"
