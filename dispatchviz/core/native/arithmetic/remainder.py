"""``remainder`` (with the sign of the divisor) and ``fmod`` (with the sign of the dividend) (``BinaryOps.cpp``)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.arithmetic.binary_ops import wrapped_scalar_tensor
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.tensor_iterator import compute, elementwise, loop, no_instance, result_type
from dispatchviz.core.tensor.tensor import Tensor


def remainder_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, self, other)


def remainder_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """self - other * floor(self / other). Raise RuntimeError if other is an integer 0"""
    dtype = result_type(self, other)
    if dtype.name == "bool" or dtype.is_complex:
        loop(no_instance("remainder_cpu", dtype), out, dtype, self, other)
    if not dtype.can_require_grad and other._array is not None and not other._array.all():
        raise RuntimeError("ZeroDivisionError")
    if dtype.is_floating_point:
        compute(out, dtype, partial(_signed_as_divisor, array_module(out._device.type)), self, other)
    else:
        loop(numpy.remainder, out, dtype, self, other)


def _signed_as_divisor(xp: Any, dividend: Any, divisor: Any) -> Any:
    """The remainder with the sign of the divisor; a zero keeps the sign of the dividend."""
    left = xp.fmod(dividend, divisor)
    return xp.where((left != 0) & ((divisor < 0) != (left < 0)), left + divisor, left)


def remainder_Scalar(self: Tensor, other: Scalar) -> Tensor:
    """Wrap the number and call the Tensor overload."""
    return ops.remainder_Tensor.call(self, wrapped_scalar_tensor(other))


def remainder_out_Scalar_out(self: Tensor, other: Scalar, out: Tensor) -> Tensor:
    """The ``out=`` version of ``remainder``."""
    return ops.remainder_Tensor_out.call(self, wrapped_scalar_tensor(other), out)


def remainder__Scalar(self: Tensor, other: Scalar) -> Tensor:
    """The in-place version of ``remainder``."""
    return ops.remainder__Tensor.call(self, wrapped_scalar_tensor(other))


def remainder_Scalar_Tensor(self: Scalar, other: Tensor) -> Tensor:
    """The remainder of a number divided by a tensor."""
    return ops.remainder_Tensor.call(wrapped_scalar_tensor(self), other)


# -- fmod --------------------------------------------------------------------------------------------------------------


def fmod_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, self, other)


def fmod_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """self - other * trunc(self / other). Raise RuntimeError if other is an integer 0"""
    dtype = result_type(self, other)
    if dtype.name == "bool" or dtype.is_complex:
        loop(no_instance("fmod_cpu", dtype), out, dtype, self, other)
    if not dtype.can_require_grad and other._array is not None and not other._array.all():
        raise RuntimeError("ZeroDivisionError")
    loop(numpy.fmod, out, dtype, self, other)


def fmod_Scalar(self: Tensor, other: Scalar) -> Tensor:
    """Wrap the number and call the Tensor overload."""
    return ops.fmod_Tensor.call(self, wrapped_scalar_tensor(other))


def fmod_out_Scalar_out(self: Tensor, other: Scalar, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fmod``."""
    return ops.fmod_Tensor_out.call(self, wrapped_scalar_tensor(other), out)


def fmod__Scalar(self: Tensor, other: Scalar) -> Tensor:
    """The in-place version of ``fmod``."""
    return ops.fmod__Tensor.call(self, wrapped_scalar_tensor(other))
