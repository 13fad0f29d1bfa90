"""``bitwise_and``, ``bitwise_or``, ``bitwise_xor``, ``bitwise_not`` (``aten/src/ATen/native/BinaryOps.cpp``,
``UnaryOps.cpp``). Shifts are in ``bit_shifts.py``.

Floating and complex dtypes have no bits: they raise NotImplementedError. Python's ``&`` is a separate operator, which
calls the function.
"""

from __future__ import annotations

import numpy

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar, wrapped_scalar_tensor
from dispatchviz.core.native.iterator.tensor_iterator import (
    elementwise,
    elementwise_same,
    loop,
    no_instance,
    result_type,
)
from dispatchviz.core.tensor.tensor import Tensor


def bitwise_not_meta(op: Structured, self: Tensor) -> None:
    """The dtype of self."""
    elementwise_same(op, self)


def bitwise_not_out(self: Tensor, out: Tensor) -> None:
    """self with all bits inverted; for bools logical not."""
    dtype = self._dtype
    refused = dtype.can_require_grad
    loop(no_instance("bitwise_not_cpu", dtype) if refused else numpy.invert, out, dtype, self)


# -- and ---------------------------------------------------------------------------------------------------------------


def bitwise_and_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, self, other)


def bitwise_and_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """The bits that both operands have; for bools logical and."""
    _loop("bitwise_and_cpu", numpy.bitwise_and, self, other, out)


def bitwise_and_out_Scalar_out(self: Tensor, other: Scalar, out: Tensor) -> Tensor:
    """Write ``bitwise_and`` of a tensor and a number into ``out``."""
    return ops.bitwise_and_Tensor_out.call(self, wrapped_scalar_tensor(other), out)


def bitwise_and_Scalar(self: Tensor, other: Scalar) -> Tensor:
    """``bitwise_and`` of a tensor and a number."""
    return ops.bitwise_and_Tensor.call(self, wrapped_scalar_tensor(other))


def bitwise_and_Scalar_Tensor(self: Scalar, other: Tensor) -> Tensor:
    """``bitwise_and`` of a number and a tensor."""
    return ops.bitwise_and_Tensor.call(wrapped_scalar_tensor(self), other)


def bitwise_and__Scalar(self: Tensor, other: Scalar) -> Tensor:
    """``bitwise_and`` with a number, in place."""
    return ops.bitwise_and__Tensor.call(self, wrapped_scalar_tensor(other))


def __and___Tensor(self: Tensor, other: Tensor) -> Tensor:
    """``self & other``"""
    return ops.bitwise_and_Tensor.call(self, other)


def __and___Scalar(self: Tensor, other: Scalar) -> Tensor:
    """``self & other``"""
    return ops.bitwise_and_Scalar.call(self, other)


def __iand___Tensor(self: Tensor, other: Tensor) -> Tensor:
    """``self &= other``"""
    return ops.bitwise_and__Tensor.call(self, other)


def __iand___Scalar(self: Tensor, other: Scalar) -> Tensor:
    """``self &= other``"""
    return ops.bitwise_and__Scalar.call(self, other)


# -- or ----------------------------------------------------------------------------------------------------------------


def bitwise_or_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, self, other)


def bitwise_or_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """The bits that at least one operand has; for bools logical or."""
    _loop("bitwise_or_cpu", numpy.bitwise_or, self, other, out)


def bitwise_or_out_Scalar_out(self: Tensor, other: Scalar, out: Tensor) -> Tensor:
    """Write ``bitwise_or`` of a tensor and a number into ``out``."""
    return ops.bitwise_or_Tensor_out.call(self, wrapped_scalar_tensor(other), out)


def bitwise_or_Scalar(self: Tensor, other: Scalar) -> Tensor:
    """``bitwise_or`` of a tensor and a number."""
    return ops.bitwise_or_Tensor.call(self, wrapped_scalar_tensor(other))


def bitwise_or_Scalar_Tensor(self: Scalar, other: Tensor) -> Tensor:
    """``bitwise_or`` of a number and a tensor."""
    return ops.bitwise_or_Tensor.call(wrapped_scalar_tensor(self), other)


def bitwise_or__Scalar(self: Tensor, other: Scalar) -> Tensor:
    """``bitwise_or`` with a number, in place."""
    return ops.bitwise_or__Tensor.call(self, wrapped_scalar_tensor(other))


def __or___Tensor(self: Tensor, other: Tensor) -> Tensor:
    """``self | other``"""
    return ops.bitwise_or_Tensor.call(self, other)


def __or___Scalar(self: Tensor, other: Scalar) -> Tensor:
    """``self | other``"""
    return ops.bitwise_or_Scalar.call(self, other)


def __ior___Tensor(self: Tensor, other: Tensor) -> Tensor:
    """``self |= other``"""
    return ops.bitwise_or__Tensor.call(self, other)


def __ior___Scalar(self: Tensor, other: Scalar) -> Tensor:
    """``self |= other``"""
    return ops.bitwise_or__Scalar.call(self, other)


# -- xor ---------------------------------------------------------------------------------------------------------------


def bitwise_xor_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, self, other)


def bitwise_xor_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """The bits that exactly one operand has; for bools exclusive or."""
    _loop("bitwise_xor_cpu", numpy.bitwise_xor, self, other, out)


def bitwise_xor_out_Scalar_out(self: Tensor, other: Scalar, out: Tensor) -> Tensor:
    """Write ``bitwise_xor`` of a tensor and a number into ``out``."""
    return ops.bitwise_xor_Tensor_out.call(self, wrapped_scalar_tensor(other), out)


def bitwise_xor_Scalar(self: Tensor, other: Scalar) -> Tensor:
    """``bitwise_xor`` of a tensor and a number."""
    return ops.bitwise_xor_Tensor.call(self, wrapped_scalar_tensor(other))


def bitwise_xor_Scalar_Tensor(self: Scalar, other: Tensor) -> Tensor:
    """``bitwise_xor`` of a number and a tensor."""
    return ops.bitwise_xor_Tensor.call(wrapped_scalar_tensor(self), other)


def bitwise_xor__Scalar(self: Tensor, other: Scalar) -> Tensor:
    """``bitwise_xor`` with a number, in place."""
    return ops.bitwise_xor__Tensor.call(self, wrapped_scalar_tensor(other))


def __xor___Tensor(self: Tensor, other: Tensor) -> Tensor:
    """``self ^ other``"""
    return ops.bitwise_xor_Tensor.call(self, other)


def __xor___Scalar(self: Tensor, other: Scalar) -> Tensor:
    """``self ^ other``"""
    return ops.bitwise_xor_Scalar.call(self, other)


def __ixor___Tensor(self: Tensor, other: Tensor) -> Tensor:
    """``self ^= other``"""
    return ops.bitwise_xor__Tensor.call(self, other)


def __ixor___Scalar(self: Tensor, other: Scalar) -> Tensor:
    """``self ^= other``"""
    return ops.bitwise_xor__Scalar.call(self, other)


def _loop(kernel: str, function: numpy.ufunc, self: Tensor, other: Tensor, out: Tensor) -> None:
    dtype = result_type(self, other)
    loop(no_instance(kernel, dtype) if dtype.can_require_grad else function, out, dtype, self, other)
