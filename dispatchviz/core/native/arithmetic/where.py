"""``where``, ``clamp_min``, ``clamp_max`` (``aten/src/ATen/native/TensorCompare.cpp``)."""

from __future__ import annotations

import math

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.arithmetic.clamp import set_clamped
from dispatchviz.core.native.iterator.scalar import Scalar, convert
from dispatchviz.core.native.iterator.tensor_iterator import (
    compute,
    elementwise,
    elementwise_same,
    no_instance,
    operand,
    out_elementwise,
    quiet,
    result_type,
    store,
)
from dispatchviz.core.tensor.dtype import DType, bool_, of_scalar, result_type_of, uint8
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread import warning

# -- where -------------------------------------------------------------------------------------------------------------


def where_self(condition: Tensor, self: Tensor, other: Tensor) -> Tensor:
    """self where condition, else other."""
    device = _out_device(condition, self, other)
    out = ops.empty_memory_format.call((0,), result_type(self, other), None, device, None, None)
    return where_self_out(condition, self, other, out)


def where_self_out(condition: Tensor, self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """self where condition, else other, into out."""
    dtype = result_type(self, other)
    if out._dtype is not dtype:
        raise RuntimeError(f"Expected out type to be {dtype.legacy} but got {out._dtype.legacy}")
    self, other = _to(self, dtype), _to(other, dtype)
    if out._device.type != "cpu":
        condition, self, other = (_scalar_to(tensor, out._device) for tensor in (condition, self, other))
    condition = _as_condition(condition)
    out_elementwise(out, condition, self, other)
    if out._array is not None:
        xp, kind = array_module(out._device.type), out._device.type
        choices = [operand(tensor, dtype, kind) for tensor in (self, other)]
        store(out, quiet.run(xp.where, operand(condition, bool_, kind), *choices))
    return out


def _out_device(*tensors: Tensor) -> Device:
    return next((t._device for t in tensors if t._device.type != "cpu"), tensors[0]._device)


def _to(tensor: Tensor, dtype: DType) -> Tensor:
    return tensor if tensor._dtype is dtype else ops.to_dtype.call(tensor, dtype, False, False, None)


def _scalar_to(tensor: Tensor, device: Device) -> Tensor:
    """Move a 0-dim CPU tensor to the device of the others."""
    if tensor._size or tensor._device == device:
        return tensor
    return ops.to_device.call(tensor, device, tensor._dtype, False, False, None)


def _as_condition(condition: Tensor) -> Tensor:
    if condition._dtype is uint8:
        warning.warn_python(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future "
            "version of PyTorch. Use a boolean condition instead.",
            "aten/src/ATen/native/TensorCompare.cpp:621",
        )
        return _to(condition, bool_)
    if condition._dtype is not bool_:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition._dtype.legacy}"
        )
    return condition


def where_ScalarSelf(condition: Tensor, self: Scalar, other: Tensor) -> Tensor:
    """A number where condition, else other"""
    dtype = _common_type(other, self)
    number = ops.scalar_tensor.call(self, dtype, None, other._device, None)
    return ops.where_self.call(condition, number, ops.to_dtype.call(other, dtype, False, False, None))


def where_ScalarOther(condition: Tensor, self: Tensor, other: Scalar) -> Tensor:
    """self where condition, else a number"""
    dtype = _common_type(self, other)
    number = ops.scalar_tensor.call(other, dtype, None, self._device, None)
    return ops.where_self.call(condition, ops.to_dtype.call(self, dtype, False, False, None), number)


def where_Scalar(condition: Tensor, self: Scalar, other: Scalar) -> Tensor:
    """One number where condition, else another"""
    dtype = result_type_of(((of_scalar(self), 0), (of_scalar(other), 0)))
    second = ops.scalar_tensor.call(other, dtype, None, condition._device, None)
    first = ops.scalar_tensor.call(self, dtype, None, condition._device, None)
    return ops.where_self.call(condition, first, second)


def _common_type(tensor: Tensor, number: Scalar) -> DType:
    return result_type_of(((tensor._dtype, 2 if tensor._size else 1), (of_scalar(number), 0)))


# -- clamp_min, clamp_max ----------------------------------------------------------------------------------------------


def clamp_min_meta(op: Structured, self: Tensor, min: Scalar) -> None:
    """The dtype of self; integers are promoted with the number."""
    _set_clamped(op, self, min)


def clamp_max_meta(op: Structured, self: Tensor, max: Scalar) -> None:
    """The dtype of self; integers are promoted with the number."""
    _set_clamped(op, self, max)


def _set_clamped(op: Structured, self: Tensor, bound: Scalar) -> None:
    if self._dtype.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")
    if self._dtype.is_floating_point:
        elementwise_same(op, self)
    else:
        set_clamped(op, self, _common_type(self, bound))


def clamp_min_out(self: Tensor, min: Scalar, out: Tensor) -> None:
    """max(self, min); nan stays nan, and a ``min`` of nan gives nan everywhere"""
    _clamp("maximum", self, min, out)


def clamp_max_out(self: Tensor, max: Scalar, out: Tensor) -> None:
    """min(self, max); nan stays nan, and a ``max`` of nan gives nan everywhere"""
    _clamp("minimum", self, max, out)


def _clamp(function: str, self: Tensor, bound: Scalar, out: Tensor) -> None:
    if isinstance(bound, float) and math.isnan(bound):
        ops.fill__Scalar.call(out, bound)
    else:
        dtype = self._dtype
        number = dtype.numpy.type(convert(bound, dtype))
        choose = getattr(array_module(out._device.type), function)
        compute(out, dtype, lambda values: choose(values, number), self)


def clamp_min_Tensor_meta(op: Structured, self: Tensor, min: Tensor) -> None:
    """The broadcast shape and common dtype."""
    elementwise(op, self, min)


def clamp_max_Tensor_meta(op: Structured, self: Tensor, max: Tensor) -> None:
    """The broadcast shape and common dtype."""
    elementwise(op, self, max)


def clamp_min_Tensor_out(self: Tensor, min: Tensor, out: Tensor) -> None:
    """max(self, min), element by element"""
    _clamp_by_tensor("maximum", self, min, out)


def clamp_max_Tensor_out(self: Tensor, max: Tensor, out: Tensor) -> None:
    """min(self, max), element by element"""
    _clamp_by_tensor("minimum", self, max, out)


def _clamp_by_tensor(name: str, self: Tensor, bound: Tensor, out: Tensor) -> None:
    dtype = result_type(self, bound)
    function = getattr(array_module(out._device.type), name)
    compute(out, dtype, no_instance(f"{name}_cpu", dtype) if dtype.is_complex else function, self, bound)
