"""CuPy's elementwise functions: the loop that a call runs, and the arguments that they refuse."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import ml_dtypes
import numpy

from tests.cupy_stand_in.array import ndarray
from tests.cupy_stand_in.recorded import RECORDED

NUMBERS = (bool, int, float, complex)
SCATTERED = {"add": "biIQefd", "subtract": "biIQefd", "maximum": "iIQfd", "minimum": "iIQfd"}
"""The dtypes of ``at``, which are those of CUDA's atomic operations (``_routines_indexing.pyx``)."""


def dtype_of(char: str) -> numpy.dtype[Any]:
    """Return the dtype for one of CuPy's characters."""
    return numpy.dtype(ml_dtypes.bfloat16 if char == "E" else char)


class Ufunc:
    """A ufunc with its loops."""

    def __init__(self, name: str, compute: Callable[..., Any], recorded: dict[str, Any]) -> None:
        self.__name__ = name
        self.compute = compute
        self.nin, self.nout = recorded["nin"], recorded["nout"]
        self.types: list[str] = recorded["ufunc"]
        self.has_at: bool = recorded["at"]

    @cached_property
    def loops(self) -> list[tuple[list[numpy.dtype[Any]], list[numpy.dtype[Any]]]]:
        """The dtypes of operands and results, in CuPy's order."""
        both = (each.split("->") for each in self.types)
        return [([dtype_of(c) for c in left], [dtype_of(c) for c in right]) for left, right in both]

    def __call__(self, *args: Any, out: Any = None, dtype: Any = None, casting: str = "same_kind", **other: Any) -> Any:
        if other:
            raise TypeError(f"Wrong arguments {other}")
        if not self.nin <= len(args) <= self.nin + self.nout:
            raise TypeError(f"Wrong number of arguments for {self.__name__!r}")
        for each in args:
            if not isinstance(each, (ndarray, numpy.generic, *NUMBERS)):
                raise TypeError(f"Unsupported type {type(each)}")
        given, outs = args[: self.nin], args[self.nin :] or (out if isinstance(out, tuple) else (out,) * self.nout)
        into, result = self.loop(given, None if dtype is None else numpy.dtype(dtype))
        found = self.compute(*(_operand(value, kind) for value, kind in zip(given, into, strict=True)))
        parts = found if isinstance(found, tuple) else (found,)
        written = [_written(*each, casting) for each in zip(parts, result, outs, strict=True)]
        return written[0] if self.nout == 1 else tuple(written)

    def loop(
        self, given: tuple[Any, ...], dtype: numpy.dtype[Any] | None
    ) -> tuple[list[numpy.dtype[Any]], list[numpy.dtype[Any]]]:
        """Return the first loop whose operands hold the arguments, or one that returns a dtype. Raise TypeError if
        there is none.
        """
        if dtype is not None:
            fitting = [loop for loop in self.loops if all(each == dtype for each in loop[1])]
        else:
            weak = _weak(given)
            fitting = [loop for loop in self.loops if all(map(_holds, loop[0], given, weak))]
        if not fitting:
            raise TypeError(f"Wrong type ({[_type(each) for each in given]}, {dtype}) of arguments for {self.__name__}")
        return fitting[0]

    def at(self, a: ndarray, indices: Any, b: Any = None) -> None:
        """Apply in place at indices, one after the other, for dtypes with an atomic operation."""
        if not self.has_at:
            raise NotImplementedError(f"`{self.__name__}.at` is not supported yet")
        if a.dtype.char not in SCATTERED.get(self.__name__, "iIqQlL"):
            raise TypeError(f"cupy.{self.__name__}.at does not support {a.dtype}")
        values = b.numbers.astype(a.dtype) if isinstance(b, ndarray) else b
        getattr(numpy, self.__name__).at(a.numbers, a.key(indices), values)

    def outer(self, a: ndarray, b: ndarray, **options: Any) -> Any:
        """Apply to all pairs."""
        return self(a.reshape(a.shape + (1,) * b.ndim), b, **options)

    def reduce(self, array: ndarray, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Return the sum or the product; other ufuncs raise NotImplementedError."""
        return getattr(array, self._only({"add": "sum", "multiply": "prod"}))(axis, dtype, out, keepdims)

    def accumulate(self, array: ndarray, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """Return the cumulative sum or product; other ufuncs raise NotImplementedError."""
        return getattr(array, self._only({"add": "cumsum", "multiply": "cumprod"}))(axis, dtype, out)

    def _only(self, methods: dict[str, str]) -> str:
        if self.__name__ not in methods:
            raise NotImplementedError(f"this method of `{self.__name__}` is not supported yet")
        return methods[self.__name__]


def _operand(value: Any, dtype: numpy.dtype[Any]) -> Any:
    return value.numbers.astype(dtype) if isinstance(value, ndarray) else numpy.asarray(value, dtype)


def _written(value: Any, dtype: numpy.dtype[Any], out: ndarray | None, casting: Any) -> ndarray:
    """Return the result in its dtype, or in an array that it can be cast to."""
    result = numpy.asarray(value).astype(dtype)
    if out is None:
        return ndarray.of(result)
    if not numpy.can_cast(dtype, out.dtype, casting):
        raise TypeError(f"output (typecode {dtype.char!r}) could not be coerced to {out.dtype.char!r}")
    out.numbers[...] = result
    return out


def _type(value: Any) -> Any:
    return numpy.dtype(type(value)) if isinstance(value, NUMBERS) else value.dtype


def _weak(given: tuple[Any, ...]) -> list[bool]:
    """Return which arguments are Python numbers without a dtype of their own, because no array has a lower category."""
    numbers = [isinstance(each, NUMBERS) and not isinstance(each, numpy.generic) for each in given]
    ranks = ["biufc".find(_type(each).kind.replace("V", "f").replace("u", "i")) for each in given]
    arrays = [rank for rank, number in zip(ranks, numbers, strict=True) if not number]
    if not arrays or max(arrays) < max((r for r, n in zip(ranks, numbers, strict=True) if n), default=-1):
        return [False] * len(given)
    return numbers


def _holds(dtype: numpy.dtype[Any], value: Any, weak: bool) -> bool:
    if numpy.can_cast(_type(value), dtype):
        return True
    try:
        return weak and bool(numpy.result_type(type(value)(0), dtype) == dtype)
    except TypeError:
        return False


WHERE = Ufunc("where", numpy.where, RECORDED["modules"]["cupy"]["where"])
