"""``atan2``, ``lerp``, ``addcmul``, ``addcdiv`` (``aten/src/ATen/native/BinaryOps.cpp``, ``Lerp.cpp``,
``PointwiseOps.cpp``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.native.arithmetic.fma import multiply_add
from dispatchviz.core.native.iterator.scalar import Scalar, opmath
from dispatchviz.core.native.iterator.tensor_iterator import (
    check_same_dtype,
    compute,
    elementwise,
    elementwise_float,
    float_type,
    no_instance,
    result_type,
)
from dispatchviz.core.tensor.dtype import type_meta_name
from dispatchviz.core.tensor.tensor import Tensor

# -- atan2 -------------------------------------------------------------------------------------------------------------


def atan2_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """A result of floating dtype."""
    elementwise_float(op, self, other)


def atan2_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """The angle of the point (other, self)"""
    dtype = float_type(result_type(self, other))
    function = no_instance("atan2_cpu", dtype) if dtype.is_complex else array_module(out._device.type).arctan2
    compute(out, dtype, function, self, other)


# -- lerp --------------------------------------------------------------------------------------------------------------


def lerp_Scalar_meta(op: Structured, self: Tensor, end: Tensor, weight: Scalar) -> None:
    """The broadcast shape; self and ``end`` must have the same dtype."""
    if self._dtype is not end._dtype:
        expected, found = type_meta_name(self._dtype), type_meta_name(end._dtype)
        raise RuntimeError(f"expected dtype {expected} for `end` but got dtype {found}")
    elementwise(op, self, end)


def lerp_Scalar(self: Tensor, end: Tensor, weight: Scalar, out: Tensor) -> None:
    """self + weight * (end - self), computed from the nearer end"""
    dtype = self._dtype
    if not dtype.can_require_grad:
        return compute(out, dtype, no_instance("lerp_kernel_scalar", dtype), self, end)
    number = opmath(weight, dtype)
    if abs(number) < 0.5:
        return compute(out, dtype, lambda a, b: multiply_add(b - a, number, a), self, end)
    return compute(out, dtype, lambda a, b: multiply_add(b - a, number - 1, b), self, end)


def lerp_Tensor_meta(op: Structured, self: Tensor, end: Tensor, weight: Tensor) -> None:
    """The broadcast shape. All tensors must have the same dtype; a 0-dim weight may have another one."""
    for name, tensor in (("end", end), ("weight", weight)):
        if self._dtype is not tensor._dtype and (tensor is end or tensor._size):
            expected, found = type_meta_name(self._dtype), type_meta_name(tensor._dtype)
            raise RuntimeError(f"expected dtype {expected} for `{name}` but got dtype {found}")
    if weight._size and op.variant == "out":
        check_same_dtype(op.output, self._dtype)
    elementwise(op, self, end, weight)


def lerp_Tensor(self: Tensor, end: Tensor, weight: Tensor, out: Tensor) -> None:
    """self + weight * (end - self), computed from the nearer end"""
    dtype = result_type(self, end, weight)
    if not dtype.can_require_grad:
        return compute(out, dtype, no_instance("lerp_kernel_tensor", dtype), self, end, weight)
    xp = array_module(out._device.type)

    def lerp(a: Any, b: Any, w: Any) -> Any:
        small = abs(w) < 0.5
        return multiply_add(b - a, xp.where(small, w, w - 1), xp.where(small, a, b))

    return compute(out, dtype, lerp, self, end, weight)


# -- addcmul -----------------------------------------------------------------------------------------------------------


def addcmul_meta(op: Structured, self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Scalar) -> None:
    """The broadcast shape and common dtype."""
    elementwise(op, self, tensor1, tensor2)


def addcmul_out(self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Scalar, out: Tensor) -> None:
    """self + value * tensor1 * tensor2"""
    dtype = result_type(self, tensor1, tensor2)
    factor = opmath(value, dtype)
    compute(out, dtype, lambda a, b, c: multiply_add(factor * b, c, a), self, tensor1, tensor2)


# -- addcdiv -----------------------------------------------------------------------------------------------------------


def addcdiv_meta(op: Structured, self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Scalar) -> None:
    """The broadcast shape and common dtype. Raise RuntimeError if both tensors to be divided are integers."""
    if not (tensor1._dtype.can_require_grad or tensor2._dtype.can_require_grad):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a "
            "true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value "
            "* torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
            "tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value "
            "* tensor1 / tensor2), for all dtypes."
        )
    elementwise(op, self, tensor1, tensor2)


def addcdiv_out(self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Scalar, out: Tensor) -> None:
    """self + value * tensor1 / tensor2"""
    dtype = result_type(self, tensor1, tensor2)
    factor = opmath(value, dtype)
    compute(out, dtype, lambda a, b, c: a + factor * b / c, self, tensor1, tensor2)
