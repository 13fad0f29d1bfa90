"""Operators whose CUDA kernels leave the GPU: found by following the functions of each kernel to a copy to the host.

With CuPy, everything else stays on the GPU. Whether a call copies may depend on its dtypes and arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType

NATIVE = "dispatchviz.core.native"
"""The package of the kernels and of their helpers."""

BY_NUMPY = frozenset({"on_host", "asnumpy"})
"""The functions that copy a whole array to the host and the result back."""

BY_PYTHON = frozenset({"tolist"})
"""The functions that turn an array into Python numbers, one by one."""


def host_operators(ways: frozenset[str]) -> list[str]:
    """The names, without overloads, of the operators whose kernels use one of the names ``ways`` on a CUDA tensor."""
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
    """A function and all functions of the kernels that it calls or passes on."""
    reached, waiting = {function}, [function]
    while waiting:
        new = {each for each in _mentioned(waiting.pop()) if each.__module__.startswith(NATIVE)} - reached
        reached |= new
        waiting += new
    return reached


def _mentioned(function: FunctionType) -> Iterator[FunctionType]:
    """The functions that a function names, those of modules that it names, and those in its closure."""
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
    """The code of a function and of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
