"""The parts of an installed PyTorch that the checks read: its files, libraries, generators and tables."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.pytorch_registrations import operators_with, pytorch_operators, pytorch_registry
from dispatchviz.explain.codegen.torchgen_output import real
from dispatchviz.explain.codegen.torchgen_texts import RealPiece
from truth.observers.elf_symbols import Library

LIBRARIES = ("libtorch_cpu.so", "libtorch_python.so", "libc10.so")

FOLDERS = {
    "aten/src/ATen/native/native_functions.yaml": "torchgen/packaged/ATen/native/native_functions.yaml",
    "aten/src/": "torch/include/",
    "build/aten/src/": "torch/include/",
    "c10/": "torch/include/c10/",
    "torch/": "torch/include/torch/",
    "torchgen/": "torchgen/",
    "tools/autograd/": "torchgen/packaged/autograd/",
}
"""Where an installation has the files of PyTorch's tree; the first that fits."""


def torch() -> Any:
    return pytest.importorskip("torch")


def C() -> Any:
    """PyTorch's functions for looking into its dispatcher."""
    return torch()._C


def path_of(file: str) -> Path:
    """The path of an installed file."""
    found = next(folder + file.removeprefix(begin) for begin, folder in FOLDERS.items() if file.startswith(begin))
    return Path(torch().__file__).parents[1] / found


@cache
def text(file: str) -> str:
    """A header, a yaml file, a generator."""
    return path_of(file).read_text("utf-8")


@cache
def libraries() -> tuple[Library, ...]:
    return tuple(Library(Path(torch().__file__).parent / "lib" / name) for name in LIBRARIES)


@cache
def compiled() -> frozenset[str]:
    """Names of all files that were compiled."""
    return frozenset(each.name for library in libraries() for each in library.objects)


@cache
def functions() -> frozenset[str]:
    """Names of all functions without template arguments."""
    return frozenset(each.name for library in libraries() for each in library.functions)


def has_symbol(name: str) -> bool:
    """Return whether a name is a part of any symbol."""
    return any(name.encode() in library.names for library in libraries())


@cache
def generated(operator: str) -> str:
    """All that the code generators write for an operator."""
    return "\n".join(piece.text for piece in pieces(operator))


def pieces(operator: str) -> tuple[RealPiece, ...]:
    """The same, with their files."""
    entry = pytorch_registry("cpu").find(operator)
    assert entry is not None
    return real(entry).pieces


def autograd_kernel(operator: str, name: str) -> str:
    """The code that the generator writes as ``VariableType::name``."""
    return written(operator, "VariableType_", f"{name}(c10::DispatchKeySet ks")


def written(operator: str, file: str, begins: str) -> str:
    """The piece of a generated file that has some text in its first line."""
    found = (piece.text for piece in pieces(operator) if file in piece.file)
    return next(text for text in found if begins in text.partition("\n")[0])


def within(text: str, *parts: str) -> bool:
    """Return whether a text contains the parts, one after the other."""
    at = 0
    for part in parts:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


class Cell:
    """A line of a table that PyTorch prints."""

    def __init__(self, line: str) -> None:
        self.key, _, rest = line.partition(": ")
        self.reason = rest[rest.rindex("[") + 1 : rest.rindex("]")]
        self.falls_through = rest.startswith("fallthrough")
        self.place = rest

    def is_in(self, file: str) -> bool:
        return f"/{file}:" in self.place


def table(operator: str) -> dict[str, Cell]:
    """The cells of an operator that are filled."""
    lines = C()._dispatch_dump_table(operator).splitlines()
    return {cell.key: cell for cell in map(Cell, lines)}


@cache
def own_operators() -> frozenset[str]:
    """PyTorch's operators; others may have been imported. The numbers of ``_native`` depend on installed packages."""
    there = set(C()._dispatch_get_all_op_names())
    numbered = {name.rpartition("_")[0]: name for name in there if name.startswith("_native::")}
    own = {name if name in there else numbered.get(name.rpartition("_")[0], "") for name in pytorch_operators()}
    return frozenset(own - {""})


def registered(key: str) -> frozenset[str]:
    """PyTorch's operators with a kernel for a key. Imports may add to them."""
    own = operators_with(DispatchKey[key], "cpu")
    assert own <= set(C()._dispatch_get_registrations_for_dispatch_key(key))
    return own


@cache
def reasons_of(key: str) -> dict[str, Cell]:
    """The cell of that key of all operators that have one."""
    begins = re.compile(rf"^{key}: .*", re.MULTILINE)
    found = ((name, begins.search(C()._dispatch_dump_table(name))) for name in own_operators())
    return {name: Cell(line[0]) for name, line in found if line is not None}


def raw(value: int) -> Any:
    return C().DispatchKeySet.from_raw_repr(value)


def keys(tensor: Any) -> int:
    return int(C()._dispatch_keys(tensor).raw_repr())


def included() -> int:
    return int(C()._dispatch_tls_local_include_set().raw_repr())


def excluded() -> int:
    return int(C()._dispatch_tls_local_exclude_set().raw_repr())


def cuda_keys() -> int:
    """The keys of an ordinary CUDA tensor: those of a wrapper subclass on cuda without its Python keys."""
    python = C().DispatchKeySet(C().DispatchKey.Python).raw_repr()
    snapshot = C().DispatchKeySet(C().DispatchKey.PythonTLSSnapshot).raw_repr()

    class Wrapper(torch().Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_dispatch__(cls, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    wrapper = torch().Tensor._make_wrapper_subclass(Wrapper, (2,), device="cuda")
    return keys(wrapper) & ~(python | snapshot)


def names_of(value: int) -> set[str]:
    """The members of a set."""
    shown = C()._dispatch_keyset_to_string(raw(value))
    return set(shown.removeprefix("DispatchKeySet(").removesuffix(")").split(", "))


def key_order() -> list[str]:
    """All keys, lowest priority first."""
    shown = C()._dispatch_keyset_to_string(C()._dispatch_keyset_full())
    return list(shown.removeprefix("DispatchKeySet(").removesuffix(")").split(", "))


def calls_of(run: Any) -> Iterator[str]:
    """The operators that are called while a function runs, as the profiler counts them."""
    with torch().profiler.profile() as profiler:
        run()
    return (event.name for event in profiler.events())


@contextmanager
def new_operator() -> Iterator[Any]:
    """Define ``thenandnow::op`` in a library in which more may be registered for it."""
    library = torch().library.Library("thenandnow", "FRAGMENT")
    try:
        library.define("op(Tensor x) -> Tensor")
        yield library
    finally:
        library._destroy()


@contextmanager
def backend_kernel_of_erfinv(kernel: Callable[[Any], Any]) -> Iterator[None]:
    """Put a Python function into the CPU cell of an operator that has an autograd kernel."""
    library = torch().library.Library("aten", "IMPL")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a kernel that is overridden
            library.impl("erfinv", kernel, "CPU")
        yield
    finally:
        library._destroy()
