"""CuPy's functions: NumPy's under the same names, with CuPy's parameters and errors."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import numpy

from tests.cupy_stand_in.array import inside, ndarray, outside
from tests.cupy_stand_in.recorded import RECORDED, check_call
from tests.cupy_stand_in.sorting import SORTING, check_sorting
from tests.cupy_stand_in.ufuncs import WHERE, Ufunc

FROM_THE_HOST = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray")
"""Functions that copy a NumPy array to the GPU."""
PARTS = ("concatenate", "stack", "hstack", "vstack", "dstack", "column_stack")
"""Functions that join arrays and take nothing but arrays."""
ARRAYS = ("allclose", "array_equal", "array_equiv", "count_nonzero", "isscalar")
"""Functions that return an array here, where NumPy's may return a Python value."""


class Namespace(dict[str, Any]):
    """The names of a module, looked up on use. Raise AttributeError for a name that CuPy does not have."""

    def __init__(self, module: str) -> None:
        super().__init__()
        self.module = module
        self.recorded = RECORDED["modules"][module]

    def __missing__(self, name: str) -> Any:
        if name not in self.recorded:
            raise AttributeError(f"module {self.module!r} has no attribute {name!r}")
        self[name] = found = self._made(name, self.recorded[name])
        return found

    def _made(self, name: str, recorded: dict[str, Any]) -> Any:
        if name == "where":
            return where
        ours = getattr(reduce(getattr, self.module.split(".")[1:], numpy), name)
        if "ufunc" in recorded:
            return Ufunc(name, ours, recorded)
        return ours if "value" in recorded else partial(call, name, ours, recorded["parameters"])


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Choose between two values. The condition must be an array; one loop handles numbers on both sides."""
    chosen = condition.astype(bool)
    return chosen.nonzero() if x is None else WHERE(chosen, x, y)


def call(name: str, function: Any, parameters: list[str] | None, *args: Any, **kwargs: Any) -> Any:
    """Call one of NumPy's functions as CuPy's."""
    check_call(name, parameters, args, kwargs)
    if name in FROM_THE_HOST and isinstance(args[0], numpy.ndarray):
        return ndarray.of(function(args[0].copy(), *args[1:], **kwargs))
    if name in ("asarray", "ascontiguousarray") and isinstance(args[0], ndarray) and len(args) == 1 and not kwargs:
        found = function(args[0].numbers)
        return args[0] if found is args[0].numbers else ndarray.of(found)
    _check(name, args, kwargs)
    try:
        found = outside(_turned(name, function(*inside(args), **inside(kwargs))))
    except numpy.linalg.LinAlgError as error:
        raise AssertionError(f"CuPy does not say so, it goes on with what there is: {error}") from None
    return ndarray.of(found) if name in ARRAYS and not isinstance(found, ndarray) else found


def _turned(name: str, found: Any) -> Any:
    """Return vectors with another sign or phase than LAPACK's, as cuSOLVER's may have."""
    if name == "eigh":
        return type(found)(found[0], found[1] * _phases(found[1]))
    if name == "svd" and isinstance(found, tuple):
        u, s, vh = found
        shared = _phases(u[..., : s.shape[-1]])
        u[..., : s.shape[-1]] *= shared
        vh[..., : s.shape[-1], :] *= shared.swapaxes(-1, -2).conj()
        return type(found)(u, s, vh)
    return found


def _phases(vectors: Any) -> Any:
    """Return one phase for each column; the first is unchanged."""
    columns = numpy.arange(vectors.shape[-1])[None]
    return (numpy.exp(1j * columns) if vectors.dtype.kind == "c" else (-1.0) ** columns).astype(vectors.dtype)


def _check(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise TypeError, ValueError or NotImplementedError for arguments that CuPy's function refuses."""
    if name in PARTS and not all(isinstance(each, ndarray) for each in args[0]):
        raise TypeError("Only cupy arrays can be concatenated")
    if name == "lexsort" and not isinstance(args[0], ndarray):
        raise TypeError("cupy.lexsort takes one array of keys")
    if name in SORTING:
        check_sorting(name, args[0].numbers, kwargs)
