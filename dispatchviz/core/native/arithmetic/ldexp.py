"""``rad2deg``, ``deg2rad``, ``frexp``, ``ldexp``, ``float_power`` (``aten/src/ATen/native/UnaryOps.cpp``,
``BinaryOps.cpp``, ``Pow.cpp``)."""

from __future__ import annotations

import math

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar, wrapped_scalar_tensor
from dispatchviz.core.native.iterator.tensor_iterator import (
    accumulated,
    converted,
    float_type,
    not_implemented,
    out_elementwise,
    quiet,
    result_type,
    store,
)
from dispatchviz.core.tensor.dtype import DType, can_cast, complex128, default_dtype, float64, int32, type_meta_name
from dispatchviz.core.tensor.tensor import Tensor

# -- rad2deg, deg2rad --------------------------------------------------------------------------------------------------


def _float_like(self: Tensor) -> Tensor:
    dtype = self._dtype if self._dtype.can_require_grad else default_dtype()
    return ops.empty_like.call(self, dtype, "strided", self._device, False, None)


def rad2deg(self: Tensor) -> Tensor:
    """180 / pi times self"""
    return ops.rad2deg_out.call(self, _float_like(self))


def rad2deg_(self: Tensor) -> Tensor:
    """The in-place version of ``rad2deg``."""
    return ops.rad2deg_out.call(self, self)


def rad2deg_out(self: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``rad2deg``. Raise RuntimeError for complex."""
    if self._dtype.is_complex:
        raise RuntimeError("rad2deg is not supported for complex tensors.")
    return ops.mul_out.call(self, wrapped_scalar_tensor(180 / math.pi), out)


def deg2rad(self: Tensor) -> Tensor:
    """pi / 180 times self"""
    return ops.deg2rad_out.call(self, _float_like(self))


def deg2rad_(self: Tensor) -> Tensor:
    """The in-place version of ``deg2rad``."""
    return ops.deg2rad_out.call(self, self)


def deg2rad_out(self: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``deg2rad``. Raise RuntimeError for complex."""
    if self._dtype.is_complex:
        raise RuntimeError("deg2rad is not supported for complex tensors.")
    return ops.mul_out.call(self, wrapped_scalar_tensor(math.pi / 180), out)


# -- frexp, ldexp ------------------------------------------------------------------------------------------------------


def frexp(self: Tensor) -> tuple[Tensor, Tensor]:
    """The mantissa, from 1/2 to 1, and the exponent as int32."""
    mantissa = ops.empty_like.call(self, None, None, None, None, None)
    exponent = ops.empty_like.call(self, int32, "strided", self._device, False, None)
    return ops.frexp_Tensor_out.call(self, mantissa, exponent)


def frexp_out(self: Tensor, mantissa: Tensor, exponent: Tensor) -> tuple[Tensor, Tensor]:
    """Write ``frexp`` into ``mantissa``, of the dtype of self, and ``exponent``, of int32.

    Raise RuntimeError for other dtypes.
    """
    if not self._dtype.is_floating_point:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    if mantissa._dtype is not self._dtype:
        raise RuntimeError(
            f"torch.frexp() expects mantissa to have dtype {type_meta_name(self._dtype)} but got "
            f"{type_meta_name(mantissa._dtype)}"
        )
    if exponent._dtype is not int32:
        raise RuntimeError(
            f"torch.frexp() expects exponent to have int dtype but got {type_meta_name(exponent._dtype)}"
        )
    for out in (mantissa, exponent):
        out_elementwise(out, self)
    if self._array is not None:
        within = accumulated(self._dtype)
        found = array_module(self._device.type).frexp(converted(self._array, within))
        for out, values in zip((mantissa, exponent), found, strict=True):
            store(out, values)
    return mantissa, exponent


def ldexp_Tensor(self: Tensor, other: Tensor) -> Tensor:
    """self * 2 ** other.

    A floating self and an integer other are combined in one step, which is exact even where the power alone would
    overflow.
    """
    if _is_one_step(self, other):
        return _ldexp(self, other, ops.empty_like.call(self, None, None, None, None, None))
    return ops.mul_Tensor.call(self, _power_of_two(self, other))


def ldexp_(self: Tensor, other: Tensor) -> Tensor:
    """The in-place version of ``ldexp``."""
    return ops.ldexp_out.call(self, other, self)


def ldexp_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """Write ``ldexp`` into ``out``. Raise RuntimeError if ``out`` has an integer dtype."""
    if not can_cast(float_type(result_type(self, other)), out._dtype) and not out._dtype.can_require_grad:
        raise RuntimeError(f"ldexp can't be cast to the desired output type {out._dtype.legacy}")
    if _is_one_step(self, other):
        return _ldexp(self, other, out)
    return ops.mul_out.call(self, _power_of_two(self, other), out)


def _is_one_step(self: Tensor, other: Tensor) -> bool:
    return self._dtype.is_floating_point and not other._dtype.can_require_grad


def _power_of_two(self: Tensor, other: Tensor) -> Tensor:
    if not self._dtype.is_complex:
        return ops.pow_Scalar.call(2.0, other)
    two = ops.full.call((), 2.0, self._dtype, "strided", self._device, False)
    return ops.pow_Tensor_Tensor.call(two, other)


def _ldexp(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    out_elementwise(out, self, other)
    if other._dtype.name == "bool":
        raise not_implemented("ldexp_cpu_exp", other._dtype)
    if out._array is not None:
        values = converted(self._array, accumulated(self._dtype))
        store(out, quiet.run(array_module(out._device.type).ldexp, values, other._array.astype("int32")))
    return out


# -- float_power -------------------------------------------------------------------------------------------------------


def _wide_dtype(*operands: Tensor | Scalar) -> DType:
    """The dtype of the result: float64 or complex128."""
    is_complex = any(t._dtype.is_complex if isinstance(t, Tensor) else isinstance(t, complex) for t in operands)
    return complex128 if is_complex else float64


def _cast(operand: Tensor, dtype: DType) -> Tensor:
    return ops.to_dtype.call(operand, dtype, False, False, None)


def _number(value: Scalar, dtype: DType) -> Scalar:
    return complex(value) if dtype.is_complex else float(value.real)


def float_power_Tensor_Tensor(self: Tensor, exponent: Tensor) -> Tensor:
    """self ** exponent, in float64 or complex128."""
    dtype = _wide_dtype(self, exponent)
    power = _cast(exponent, dtype)
    return ops.pow_Tensor_Tensor.call(_cast(self, dtype), power)


def float_power_Scalar(self: Scalar, exponent: Tensor) -> Tensor:
    """number ** exponent, in float64 or complex128."""
    dtype = _wide_dtype(self, exponent)
    return ops.pow_Scalar.call(_number(self, dtype), _cast(exponent, dtype))


def float_power_Tensor_Scalar(self: Tensor, exponent: Scalar) -> Tensor:
    """self ** number, in float64 or complex128."""
    dtype = _wide_dtype(self, exponent)
    return ops.pow_Tensor_Scalar.call(_cast(self, dtype), _number(exponent, dtype))


def float_power_Tensor_Tensor_out(self: Tensor, exponent: Tensor, out: Tensor) -> Tensor:
    """Write ``float_power`` into ``out``. Raise RuntimeError unless it is float64 or complex128, like the result."""
    dtype = _check_dtype("output given to float_power", out, _wide_dtype(self, exponent))
    power = _cast(exponent, dtype)
    return ops.pow_Tensor_Tensor_out.call(_cast(self, dtype), power, out)


def float_power_Scalar_out(self: Scalar, exponent: Tensor, out: Tensor) -> Tensor:
    """Write ``float_power`` into ``out``. Raise RuntimeError unless it is float64 or complex128, like the result."""
    dtype = _check_dtype("output given to float_power", out, _wide_dtype(self, exponent))
    return ops.pow_Scalar_out.call(_number(self, dtype), _cast(exponent, dtype), out)


def float_power_Tensor_Scalar_out(self: Tensor, exponent: Scalar, out: Tensor) -> Tensor:
    """Write ``float_power`` into ``out``. Raise RuntimeError unless it is float64 or complex128, like the result."""
    dtype = _check_dtype("output given to float_power", out, _wide_dtype(self, exponent))
    return ops.pow_Tensor_Scalar_out.call(_cast(self, dtype), _number(exponent, dtype), out)


def float_power__Tensor(self: Tensor, exponent: Tensor) -> Tensor:
    """The in-place version of ``float_power``.

    Raise RuntimeError unless self is float64 or complex128, like the result.
    """
    dtype = _check_dtype("base given to float_power_", self, _wide_dtype(self, exponent))
    return ops.pow__Tensor.call(self, _cast(exponent, dtype))


def float_power__Scalar(self: Tensor, exponent: Scalar) -> Tensor:
    """The in-place version of ``float_power``.

    Raise RuntimeError unless self is float64 or complex128, like the result.
    """
    dtype = _check_dtype("base given to float_power_", self, _wide_dtype(self, exponent))
    return ops.pow__Scalar.call(self, _number(exponent, dtype))


def _check_dtype(what: str, tensor: Tensor, dtype: DType) -> DType:
    if tensor._dtype is not dtype:
        raise RuntimeError(
            f"the {what} has dtype {tensor._dtype.legacy} but the operation's result requires dtype {dtype.legacy}"
        )
    return dtype
