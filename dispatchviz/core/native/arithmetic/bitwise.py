"""``bitwise_and``, ``bitwise_or``, ``bitwise_xor``, ``bitwise_not`` (``aten/src/ATen/native/BinaryOps.cpp``,
``UnaryOps.cpp``). Shifts are in ``bit_shifts.py``.

Fractions and complex numbers have no bits: NotImplementedError. Python's ``&`` is an operator of its own, which calls
the function.
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
    """Same dtype."""
    elementwise_same(op, self)


def bitwise_not_out(self: Tensor, out: Tensor) -> None:
    """Every bit the other way; of a bool, not."""
    dtype = self._dtype
    refused = dtype.can_require_grad
    loop(no_instance("bitwise_not_cpu", dtype) if refused else numpy.invert, out, dtype, self)


# -- and ---------------------------------------------------------------------------------------------------------------


def bitwise_and_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype."""
    elementwise(op, self, other)


def bitwise_and_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """Bits that both have; of bools, and."""
    _loop("bitwise_and_cpu", numpy.bitwise_and, self, other, out)


def bitwise_and_out_Scalar_out(self: Tensor, other: Scalar, out: Tensor) -> Tensor:
    """With a number, into out."""
    return ops.bitwise_and_Tensor_out.call(self, wrapped_scalar_tensor(other), out)


def bitwise_and_Scalar(self: Tensor, other: Scalar) -> Tensor:
    """With a number."""
    return ops.bitwise_and_Tensor.call(self, wrapped_scalar_tensor(other))


def bitwise_and_Scalar_Tensor(self: Scalar, other: Tensor) -> Tensor:
    """Of a number."""
    return ops.bitwise_and_Tensor.call(wrapped_scalar_tensor(self), other)


def bitwise_and__Scalar(self: Tensor, other: Scalar) -> Tensor:
    """In place, with a number."""
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
    """The common dtype."""
    elementwise(op, self, other)


def bitwise_or_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """Bits that one of them has; of bools, or."""
    _loop("bitwise_or_cpu", numpy.bitwise_or, self, other, out)


def bitwise_or_out_Scalar_out(self: Tensor, other: Scalar, out: Tensor) -> Tensor:
    """With a number, into out."""
    return ops.bitwise_or_Tensor_out.call(self, wrapped_scalar_tensor(other), out)


def bitwise_or_Scalar(self: Tensor, other: Scalar) -> Tensor:
    """With a number."""
    return ops.bitwise_or_Tensor.call(self, wrapped_scalar_tensor(other))


def bitwise_or_Scalar_Tensor(self: Scalar, other: Tensor) -> Tensor:
    """Of a number."""
    return ops.bitwise_or_Tensor.call(wrapped_scalar_tensor(self), other)


def bitwise_or__Scalar(self: Tensor, other: Scalar) -> Tensor:
    """In place, with a number."""
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
    """The common dtype."""
    elementwise(op, self, other)


def bitwise_xor_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """Bits that just one of them has; of bools, whether they differ."""
    _loop("bitwise_xor_cpu", numpy.bitwise_xor, self, other, out)


def bitwise_xor_out_Scalar_out(self: Tensor, other: Scalar, out: Tensor) -> Tensor:
    """With a number, into out."""
    return ops.bitwise_xor_Tensor_out.call(self, wrapped_scalar_tensor(other), out)


def bitwise_xor_Scalar(self: Tensor, other: Scalar) -> Tensor:
    """With a number."""
    return ops.bitwise_xor_Tensor.call(self, wrapped_scalar_tensor(other))


def bitwise_xor_Scalar_Tensor(self: Scalar, other: Tensor) -> Tensor:
    """Of a number."""
    return ops.bitwise_xor_Tensor.call(wrapped_scalar_tensor(self), other)


def bitwise_xor__Scalar(self: Tensor, other: Scalar) -> Tensor:
    """In place, with a number."""
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
