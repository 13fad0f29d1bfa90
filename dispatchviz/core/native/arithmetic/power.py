"""``pow`` and ``result_type`` (``aten/src/ATen/native/Pow.cpp``).

NB: in PyTorch, the meta functions of the number overloads also cast their tensor; here the impl does, so on the meta
device ``result_type`` is called and ``to`` is not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.call.unseen_calls import are_unseen
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar, convert, wrapped_scalar_tensor
from dispatchviz.core.native.iterator.tensor_iterator import binary_loop, compute, elementwise, no_instance, result_type
from dispatchviz.core.tensor.dtype import REDUCED, DType, bfloat16, bool_, of_scalar, result_type_of
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides


def pow_Tensor_Tensor_meta(op: Structured, self: Tensor, exponent: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, self, exponent)


def pow_Tensor_Scalar_meta(op: Structured, self: Tensor, exponent: Scalar) -> None:
    """The common dtype, with the exponent as a wrapped number.

    Raise RuntimeError for integers with a negative integer exponent.
    """
    if not self._dtype.can_require_grad and type(exponent) is int and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if are_unseen(self) and not self._wrapped_number and _common_type(self, exponent) is self._dtype:
        elementwise(op, self)
        return
    dtype = ops.result_type_Scalar.call(self, exponent)
    base = ops.to_dtype.call(self, dtype, False, False, None)
    op.operands = ((self, base),)
    elementwise(op, base, dtype=dtype)
    if exponent in (0, 1):
        op.target = op.output  # fill_ and copy_ need no temporary


def pow_Scalar_meta(op: Structured, self: Scalar, exponent: Tensor) -> None:
    """The common dtype, with the base as a wrapped number; the result is contiguous."""
    given = op.output._dtype if op.variant == "out" else None
    dtype = given or ops.result_type_Scalar_Tensor.call(self, exponent)
    op.set_output_raw_strided(exponent._size, contiguous_strides(exponent._size), dtype, exponent._device)


def pow_Tensor_Tensor_out(self: Tensor, exponent: Tensor, out: Tensor) -> None:
    """self ** exponent"""
    dtype = result_type(self, exponent)
    power = no_instance("pow", dtype) if dtype is bool_ else _power if dtype.can_require_grad else _integer_power
    compute(out, dtype, power, self, exponent)


def pow_Tensor_Scalar_out(self: Tensor, exponent: Scalar, out: Tensor) -> None:
    """self ** number; an exponent of 0 fills with ones, an exponent of 1 copies"""
    dtype = self._dtype  # the meta function has cast self
    if exponent == 0:
        ops.fill__Scalar.call(out, 1)
    elif exponent == 1:
        ops.copy_.call(out, self, False)
    elif exponent == 2 and dtype is out._dtype and dtype.can_require_grad and dtype not in REDUCED:
        binary_loop(numpy.multiply, out, self, self)
    else:
        number = dtype.numpy.type(convert(exponent, dtype))
        products = _PRODUCTS.get(exponent) if dtype.can_require_grad else None
        compute(out, dtype, products or (lambda values: _power(values, number)), self, narrow=dtype is bfloat16)


def pow_Scalar_out(self: Scalar, exponent: Tensor, out: Tensor) -> None:
    """number ** exponent; a base of 1 (but not True) fills with ones"""
    if self == 1 and not isinstance(self, bool):
        ops.fill__Scalar.call(out, 1)
    else:
        ops.pow_Tensor_Tensor_out.call(wrapped_scalar_tensor(self, exponent._device), exponent, out)


def result_type_Tensor(tensor: Tensor, other: Tensor) -> DType:
    """The dtype of an operation on two tensors."""
    return result_type(tensor, other)


def result_type_Scalar(tensor: Tensor, other: Scalar) -> DType:
    """The dtype of an operation on a tensor and a number."""
    return _common_type(tensor, other)


def result_type_Scalar_Tensor(scalar: Scalar, tensor: Tensor) -> DType:
    """The dtype of an operation on a number and a tensor."""
    return _common_type(tensor, scalar)


def result_type_Scalar_Scalar(scalar1: Scalar, scalar2: Scalar) -> DType:
    """The dtype of an operation on two numbers."""
    return result_type_of(((of_scalar(scalar1), 0), (of_scalar(scalar2), 0)))


def _common_type(tensor: Tensor, number: Scalar) -> DType:
    rank = 2 if tensor._size else 0 if tensor._wrapped_number else 1
    return result_type_of(((tensor._dtype, rank), (of_scalar(number), 0)))


_PRODUCTS: dict[Scalar, Callable[[Any], Any]] = {
    2: lambda values: values * values,
    3: lambda values: values * values * values,
    -2: lambda values: values.dtype.type(1) / (values * values),
}
"""Exponents for which PyTorch multiplies; in bfloat16 it rounds every product."""


def _power(base: Any, exponent: Any) -> Any:
    return base**exponent


def _integer_power(base: Any, exponent: Any) -> Any:
    """Integer powers as in C++, where a negative exponent gives 0, or the sign for a base of 1 or -1.

    Array libraries refuse it.
    """
    magnitude = base ** abs(exponent)
    inverse = (abs(base) == 1) * magnitude
    negative = exponent < 0
    return magnitude * ~negative + inverse * negative
