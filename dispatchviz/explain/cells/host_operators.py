"""Operators whose CUDA kernels leave the GPU: found by following each kernel's function to what copies to the host.

With CuPy all else stays on the GPU. Whether a call takes such a way may depend on its dtypes and arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType

NATIVE = "dispatchviz.core.native"
"""Where the kernels are, and what they are made of."""

BY_NUMPY = frozenset({"on_host", "asnumpy"})
"""Names by which a whole array is copied to the host, and what comes of it back."""

BY_PYTHON = frozenset({"tolist"})
"""Names by which an array becomes Python's numbers, which are looked at one by one."""


def host_operators(ways: frozenset[str]) -> list[str]:
    """Names, without overloads, of the operators whose kernels use one of those names on a CUDA tensor."""
    from dispatchviz.core.generated import (
        register_composite_explicit_autograd,
        register_composite_explicit_autograd_non_functional,
        register_cuda,
    )

    tables = (register_cuda, register_composite_explicit_autograd, register_composite_explicit_autograd_non_functional)
    kernels = {name: kernel for table in tables for name, kernel in table.KERNELS.items()}
    found = {name.partition(".")[0] for name, kernel in kernels.items() if _uses(kernel, ways)}
    return sorted(name for name in found if not name.endswith("_") or name.rstrip("_") not in found)


def _uses(kernel: FunctionType, ways: frozenset[str]) -> bool:
    return any(ways & _names(function) for function in _reached(kernel) if function.__module__.startswith(NATIVE))


def _reached(function: FunctionType) -> set[FunctionType]:
    """A function and all of the kernels' own that it leads to, called or handed on."""
    reached, waiting = {function}, [function]
    while waiting:
        new = {each for each in _mentioned(waiting.pop()) if each.__module__.startswith(NATIVE)} - reached
        reached |= new
        waiting += new
    return reached


def _mentioned(function: FunctionType) -> Iterator[FunctionType]:
    """Functions that a function names, those of modules that it names, and those that it was made with."""
    names = _names(function)
    for name in names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType) and value.__name__.startswith(NATIVE):
            yield from _functions(vars(value).get(other) for other in names)
        else:
            yield from _functions([value])
    yield from _functions(cell.cell_contents for cell in function.__closure__ or ())


def _functions(values: Iterator[object] | list[object]) -> Iterator[FunctionType]:
    for value in values:
        value = getattr(value, "__wrapped__", value)  # behind a cache
        if isinstance(value, FunctionType):
            yield value


def _names(function: FunctionType) -> set[str]:
    return {name for code in _codes(function.__code__) for name in code.co_names}


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code and that of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
