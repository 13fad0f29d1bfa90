"""Nested sequences of numbers: their shape, their inferred dtype, and the stored form of each number
(``compute_sizes``, ``infer_scalar_type``, ``recursive_store`` of ``torch/csrc/utils/tensor_new.cpp``).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from dispatchviz.core.bindings.invalid_arguments import type_name
from dispatchviz.core.tensor.conj_neg_bits import resolved
from dispatchviz.core.tensor.dtype import DType, bool_, default_dtype, default_of_number, of_scalar, promote_types
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.thread.warning import warn_python_once
from dispatchviz.torch.tensor_from_numpy import known_dtype

_MOST_DIMENSIONS = 128
_NUMBERS = frozenset((bool, int, float, complex))
_LONG = range(-(1 << 63), 1 << 63)


def numbers_in(data: Any, dtype: DType | None) -> tuple[tuple[int, ...], DType, Callable[[], Any]]:
    """Return the shape of the data, its dtype unless given, and a function that reads the numbers into an array later.

    Raise TypeError or RuntimeError for data that is not a number. The function raises ValueError for ragged sequences,
    RuntimeError for a number that does not fit into an integral dtype.
    """
    if isinstance(data, (str, bytes)):
        raise _text_error(data)
    size = _size(data)
    kind = inferred_dtype(data) if dtype is None else dtype
    if isinstance(data, list) and data and isinstance(data[0], numpy.ndarray):
        warn_python_once("list of arrays", _SLOW, "torch/csrc/utils/tensor_new.cpp:252")

    def read() -> Any:
        leaves: list[Any] = []
        if 0 not in size:
            _collect(data, size, 0, leaves)
        return _stored(leaves, kind).reshape(size)

    return size, kind, read


_SLOW = (
    "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a "
    "single numpy.ndarray with numpy.array() before converting to a tensor."
)


def is_sequence(value: Any) -> bool:
    """``PySequence_Check``; tensors and NumPy's scalars fail it."""
    return hasattr(type(value), "__getitem__") and not isinstance(value, (dict, numpy.generic, numpy.dtype, Tensor))


def _size(data: Any) -> tuple[int, ...]:
    """Return the lengths along the first elements."""
    size: list[int] = []
    while is_sequence(data):
        size.append(len(data))
        if len(size) > _MOST_DIMENSIONS:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not size[-1]:
            break
        data = data[0]
    return tuple(size)


def inferred_dtype(data: Any) -> DType:
    """Return the common dtype of all numbers. Raise TypeError for a string, RuntimeError for other data without a
    dtype.
    """
    if isinstance(data, (numpy.ndarray, numpy.generic)):
        return known_dtype(data.dtype)
    if type(data) in _NUMBERS:
        return default_of_number(of_scalar(data))
    if isinstance(data, Tensor):
        return data._dtype
    if isinstance(data, (str, bytes)):
        raise _text_error(data)
    if not is_sequence(data):
        raise RuntimeError(f"Could not infer dtype of {type_name(data)}")
    return _common(data) or default_dtype()


def _text_error(data: Any) -> TypeError:
    return TypeError(f"new(): invalid data type '{type(data).__name__}'")


def _common(data: Sequence[Any]) -> DType | None:
    found: DType | None = None
    kinds = set(map(type, data))
    for part in (kind(0) for kind in kinds) if kinds <= _NUMBERS else data:
        dtype = inferred_dtype(part)
        found = dtype if found is None else promote_types(found, dtype)
    return found


def _collect(data: Any, size: tuple[int, ...], dim: int, leaves: list[Any]) -> None:
    """Collect all numbers in order. Raise TypeError or ValueError for a sequence unlike the first of its dimension."""
    if dim == len(size):
        leaves.append(data)
        return
    try:
        parts = data if isinstance(data, (list, tuple)) else list(data)
    except TypeError:
        raise TypeError("not a sequence") from None
    if len(parts) != size[dim]:
        raise ValueError(f"expected sequence of length {size[dim]} at dim {dim} (got {len(parts)})")
    if dim == len(size) - 1:
        leaves.extend(parts)
        return
    for part in parts:
        _collect(part, size, dim + 1, leaves)


# -- stored values -----------------------------------------------------------------------------------------------------


def _stored(leaves: list[Any], dtype: DType) -> Any:
    if dtype.is_floating_point and set(map(type, leaves)) <= {float, int}:
        return numpy.array(list(map(float, leaves)))
    if dtype is bool_:
        return numpy.array([bool(_number_in(leaf, dtype)) for leaf in leaves], numpy.bool_)
    if dtype.is_complex:
        return numpy.array([_complex(_number_in(leaf, dtype)) for leaf in leaves], numpy.complex128)
    if dtype.is_floating_point:
        return numpy.array([_float(_number_in(leaf, dtype)) for leaf in leaves], numpy.float64)
    limits = numpy.iinfo(dtype.numpy)
    if leaves and set(map(type, leaves)) == {int} and limits.min <= min(leaves) and max(leaves) <= limits.max:
        return numpy.array(leaves, numpy.int64)
    return numpy.array([_integer(_number_in(leaf, dtype), dtype, limits) for leaf in leaves], numpy.int64)


def _number_in(leaf: Any, dtype: DType) -> Any:
    """Return the number in a tensor of one element, and any other value unchanged. Raise TypeError or ValueError for
    any other tensor.
    """
    if not isinstance(leaf, Tensor):
        return leaf
    one = numel(leaf._size) == 1
    if not dtype.can_require_grad and dtype is not bool_ and (not one or leaf._dtype.can_require_grad):
        raise TypeError("only integer tensors of a single element can be converted to an index")
    if not one:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return resolved(leaf).item()


def _float(value: Any) -> float:
    if type(value) is float:
        return value
    if hasattr(type(value), "__float__") or hasattr(type(value), "__index__"):
        return float(value)
    raise TypeError(f"must be real number, not {type_name(value)}")


def _complex(value: Any) -> complex:
    return complex(value) if isinstance(value, (complex, numpy.complexfloating)) else _float(value)


def _integer(value: Any, dtype: DType, limits: Any) -> int:
    """Convert to an integer. Fractions are cut off; negative integers wrap around in bytes."""
    if isinstance(value, float):
        number, fits = 0, value == value and limits.min <= value <= limits.max
        number = int(value) if fits else 0
    else:
        try:
            number = operator.index(value)
        except TypeError:
            raise TypeError(f"'{type_name(value)}' object cannot be interpreted as an integer") from None
        if number not in _LONG:
            raise ValueError("Overflow when unpacking long long")
        fits = (limits.min or -limits.max) <= number <= limits.max
    if not fits:
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    return number
