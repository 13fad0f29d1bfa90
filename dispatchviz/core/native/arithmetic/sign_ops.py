"""``isinf``, ``isposinf``, ``isneginf``, ``isreal``, ``nan_to_num``, ``signbit``, ``copysign``, ``heaviside``
(``aten/src/ATen/native/UnaryOps.cpp``, ``TensorCompare.cpp``)."""

from __future__ import annotations

import math
from typing import Any

import numpy

from dispatchviz.core.call.structured import Structured, resize_output
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar, wrapped_scalar_tensor
from dispatchviz.core.native.iterator.tensor_iterator import (
    compute,
    converted,
    elementwise,
    elementwise_float,
    float_type,
    loop,
    no_instance,
    out_elementwise,
    result_type,
    store,
)
from dispatchviz.core.tensor.dtype import bool_, limits_of
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides

# -- isinf, isreal, nan_to_num -----------------------------------------------------------------------------------------


def isneginf_meta(op: Structured, self: Tensor) -> None:
    """A bool result. Raise RuntimeError for complex."""
    _check_and_set_bool_output("isneginf", op, self)


def isposinf_meta(op: Structured, self: Tensor) -> None:
    """A bool result. Raise RuntimeError for complex."""
    _check_and_set_bool_output("isposinf", op, self)


def _check_and_set_bool_output(name: str, op: Structured, self: Tensor) -> None:
    if self._dtype.is_complex:
        raise RuntimeError(f"{name} does not support complex inputs.")
    if op.variant == "out" and op.output._dtype is not bool_:
        raise RuntimeError(f"{name} does not support non-boolean outputs.")
    elementwise(op, self, dtype=bool_)


def isneginf_out(self: Tensor, out: Tensor) -> None:
    """True where self is minus infinity"""
    if not self._dtype.is_floating_point:
        ops.fill__Scalar.call(out, False)
    elif out._array is not None:
        out._array[...] = self._array == -math.inf


def isposinf_out(self: Tensor, out: Tensor) -> None:
    """True where self is infinity"""
    if not self._dtype.is_floating_point:
        ops.fill__Scalar.call(out, False)
    elif out._array is not None:
        out._array[...] = self._array == math.inf


def isinf(self: Tensor) -> Tensor:
    """True where self, or a part of a complex number, is infinite"""
    if self._dtype.is_complex:
        of_real = ops.isinf.call(ops.real.call(self))
        return ops._ior___Tensor.call(of_real, ops.isinf.call(ops.imag.call(self)))
    if not self._dtype.is_floating_point:
        return ops.zeros_like.call(self, bool_, None, None, None, "preserve_format")
    return ops.eq_Scalar.call(ops.abs.call(self), math.inf)


def isreal(self: Tensor) -> Tensor:
    """True where the imaginary part is 0"""
    if self._dtype.is_complex:
        return ops.eq_Scalar.call(ops.imag.call(self), 0)
    return ops.ones_like.call(self, bool_, None, None, None, "preserve_format")


def nan_to_num(self: Tensor, nan: float | None, posinf: float | None, neginf: float | None) -> Tensor:
    """self with nan and infinities replaced by numbers."""
    out = ops.empty_like.call(self, None, None, None, None, None)
    return ops.nan_to_num_out.call(self, nan, posinf, neginf, out)


def nan_to_num_(self: Tensor, nan: float | None, posinf: float | None, neginf: float | None) -> Tensor:
    """The in-place version of ``nan_to_num``."""
    return ops.nan_to_num_out.call(self, nan, posinf, neginf, self)


def nan_to_num_out(self: Tensor, nan: float | None, posinf: float | None, neginf: float | None, out: Tensor) -> Tensor:
    """Write ``nan_to_num`` into ``out``. By default nan becomes 0, and infinities the largest and smallest finite
    numbers.

    Raise RuntimeError if ``out`` has another dtype.
    """
    dtype = self._dtype
    if dtype is not out._dtype:
        raise RuntimeError(f"nan_to_num: dtype of out: {out._dtype.legacy} should be same as input: {dtype.legacy}")
    if not dtype.can_require_grad:
        if out._size != self._size:
            resize_output(out, self._size, contiguous_strides(self._size))
        return ops.copy_.call(out, self, False)
    out_elementwise(out, self)
    xp = array_module(out._device.type)

    parts = numpy.array([math.nan if one is None else one for one in (nan or 0.0, posinf, neginf)])
    zero, high, low = converted(parts, dtype.to_real())

    def replaced(values: Any) -> Any:
        if values.dtype.kind == "c":
            return replaced(values.real) + 1j * replaced(values.imag)
        limits = limits_of(values.dtype)
        values = xp.where(values == math.inf, limits.max if posinf is None else high, values)
        values = xp.where(values == -math.inf, limits.min if neginf is None else low, values)
        return xp.where(xp.isnan(values), zero, values)

    if out._array is not None:
        compute(out, dtype, replaced, self, narrow=True)
    return out


# -- signs -------------------------------------------------------------------------------------------------------------


def positive(self: Tensor) -> Tensor:
    """self. Raise NotImplementedError for bool."""
    if self._dtype is bool_:
        raise NotImplementedError("The `+` operator, on a bool tensor is not supported.")
    return self


def signbit_meta(op: Structured, self: Tensor) -> None:
    """A bool result. Raise NotImplementedError for complex."""
    if self._dtype.is_complex:
        raise NotImplementedError("signbit is not implemented for complex tensors.")
    if op.variant == "out" and op.output._dtype is not bool_:
        raise RuntimeError("signbit does not support non-boolean outputs.")
    elementwise(op, self, dtype=bool_)


def signbit_out(self: Tensor, out: Tensor) -> None:
    """True where self is negative; -0.0 is negative, nan may be"""
    if self._dtype is bool_:
        ops.fill__Scalar.call(out, False)
    elif out._array is not None:
        negative = (
            self._array < 0 if not self._dtype.can_require_grad else array_module(out._device.type).signbit(self._array)
        )
        store(out, negative)


def copysign_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """A result of floating dtype."""
    elementwise_float(op, self, other)


def copysign_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """The magnitude of self with the sign of other"""
    dtype = float_type(result_type(self, other))
    loop(no_instance("copysign_cpu", dtype) if dtype.is_complex else numpy.copysign, out, dtype, self, other)


def copysign_Scalar(self: Tensor, other: Scalar) -> Tensor:
    """The magnitude of self with the sign of a number."""
    return ops.copysign_Tensor.call(self, wrapped_scalar_tensor(other))


def copysign__Scalar(self: Tensor, other: Scalar) -> Tensor:
    """The in-place version of ``copysign``."""
    return ops.copysign__Tensor.call(self, wrapped_scalar_tensor(other))


def copysign_out_Scalar_out(self: Tensor, other: Scalar, out: Tensor) -> Tensor:
    """The ``out=`` version of ``copysign``."""
    return ops.copysign_out.call(self, wrapped_scalar_tensor(other), out)


def heaviside_meta(op: Structured, self: Tensor, values: Tensor) -> None:
    """The broadcast shape. Raise RuntimeError for complex and for two dtypes."""
    output = op.output if op.variant != "functional" else None
    if self._dtype.is_complex or values._dtype.is_complex or (output is not None and output._dtype.is_complex):
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if self._dtype is not values._dtype or (output is not None and output._dtype is not self._dtype):
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    elementwise(op, self, values)


def heaviside_out(self: Tensor, values: Tensor, out: Tensor) -> None:
    """0 where self is negative, 1 where it is positive, ``values`` where it is 0"""
    where = array_module(out._device.type).where
    compute(out, self._dtype, lambda a, b: where(a == 0, b, (a > 0).astype(b.dtype)), self, values)
