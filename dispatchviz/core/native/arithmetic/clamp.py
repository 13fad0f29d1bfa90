"""``maximum``, ``minimum``, ``clamp`` (``aten/src/ATen/native/BinaryOps.cpp``, ``TensorCompare.cpp``). ``clamp_min``
and ``clamp_max`` are in ``where.py``.

NB: in PyTorch, the meta function of ``clamp`` also casts its tensor; here the impl does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar, convert
from dispatchviz.core.native.iterator.tensor_iterator import (
    check_same_dtype,
    compute,
    elementwise,
    elementwise_binary,
    result_type,
)
from dispatchviz.core.tensor.dtype import DType, of_scalar, result_type_of, type_meta_name
from dispatchviz.core.tensor.tensor import Tensor

# -- maximum, minimum --------------------------------------------------------------------------------------------------


def maximum_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype. Raise RuntimeError for complex."""
    refuse_complex("maximum", self, other)
    elementwise_binary(op, self, other)


def minimum_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype. Raise RuntimeError for complex."""
    refuse_complex("minimum", self, other)
    elementwise_binary(op, self, other)


def refuse_complex(name: str, self: Tensor, other: Tensor) -> None:
    """Raise RuntimeError if an operand is complex: complex numbers have no order."""
    if self._dtype.is_complex or other._dtype.is_complex:
        raise RuntimeError(f"{name} not implemented for complex tensors.")


def maximum_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """The larger element; nan if one of them is nan"""
    compute(out, result_type(self, other), array_module(out._device.type).maximum, self, other)


def minimum_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """The smaller element; nan if one of them is nan"""
    compute(out, result_type(self, other), array_module(out._device.type).minimum, self, other)


# -- clamp to numbers --------------------------------------------------------------------------------------------------


def clamp_meta(op: Structured, self: Tensor, min: Scalar | None, max: Scalar | None) -> None:
    """The common dtype of the tensor and the bounds."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if self._dtype.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")
    set_clamped(op, self, _common_type(self, min, max))


def clamp_out(self: Tensor, min: Scalar | None, max: Scalar | None, out: Tensor) -> None:
    """self clamped to [min, max]; a bound that is nan makes every element nan"""
    dtype = self._dtype  # the meta function has cast self
    bounds = [bound for bound in (min, max) if bound is not None]
    if any(isinstance(bound, float) and math.isnan(bound) for bound in bounds):
        ops.fill__Scalar.call(out, math.nan)
        return
    low, high = (None if bound is None else dtype.numpy.type(convert(bound, dtype)) for bound in (min, max))
    compute(out, dtype, _between(out._device.type, low, high), self)


def set_clamped(op: Structured, self: Tensor, dtype: DType) -> None:
    """Set the meta of a tensor that is cast to ``dtype``, the dtype of the result.

    Raise RuntimeError if ``self`` as the output, or an ``out=`` tensor, has another dtype.
    """
    if op.output is self and dtype is not self._dtype:
        target = type_meta_name(self._dtype)
        raise RuntimeError(f"result type {dtype.legacy} can't be cast to the desired output type {target}")
    if op.variant != "functional":
        check_same_dtype(op.output, dtype)
    values = ops.to_dtype.call(self, dtype, False, False, None)
    op.operands = ((self, values),)
    elementwise(op, values, dtype=dtype)


def _common_type(tensor: Tensor, *numbers: Scalar | None) -> DType:
    given = tuple((of_scalar(number), 0) for number in numbers if number is not None)
    return result_type_of(((tensor._dtype, 2 if tensor._size else 1), *given))


def _between(kind: str, low: Any, high: Any) -> Callable[[Any], Any]:
    xp = array_module(kind)

    def between(values: Any) -> Any:
        values = values if low is None else xp.maximum(values, low)
        return values if high is None else xp.minimum(values, high)

    return between


# -- clamp to tensors --------------------------------------------------------------------------------------------------


def clamp_Tensor_meta(op: Structured, self: Tensor, min: Tensor | None, max: Tensor | None) -> None:
    """The broadcast shape and common dtype."""
    given = [bound for bound in (min, max) if bound is not None]
    if not given:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if any(tensor._dtype.is_complex for tensor in (self, *given)):
        raise NotImplementedError("clamp is not supported for complex types")
    elementwise(op, self, *given)


def clamp_Tensor_out(self: Tensor, min: Tensor | None, max: Tensor | None, out: Tensor) -> None:
    """self clamped to [min, max], element by element"""
    xp = array_module(out._device.type)
    if min is not None and max is not None:
        dtype = result_type(self, min, max)
        compute(out, dtype, lambda v, low, high: xp.minimum(xp.maximum(v, low), high), self, min, max)
    elif min is not None:
        compute(out, result_type(self, min), xp.maximum, self, min)
    elif max is not None:
        compute(out, result_type(self, max), xp.minimum, self, max)
