"""``erfc``, ``erfinv``, ``special.i0e``, ``special.ndtri``, ``special.entr``, ``special.xlogy``, ``special.zeta`` and
others (``aten/src/ATen/native/UnaryOps.cpp``, ``BinaryOps.cpp``), on the arrays of ``special_arrays.py``. Those of the
gamma function are in ``gamma_functions.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dispatchviz.core.call.structured import Structured, resize_output
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar, wrapped_scalar_tensor
from dispatchviz.core.native.iterator.tensor_iterator import (
    check_can_cast,
    compute,
    elementwise_float,
    float_type,
    no_instance,
    result_type,
)
from dispatchviz.core.native.special import special_arrays
from dispatchviz.core.tensor.dtype import DType, float16
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides


def in_doubles(function: Callable[..., Any], kernel: str, out: Tensor, dtype: DType, *operands: Tensor) -> None:
    """Write a function of double arrays into ``out``. The error for a complex dtype names ``kernel``."""
    xp = array_module(out._device.type)

    def within(*arrays: Any) -> Any:
        return function(xp, *(array.astype("float64") for array in arrays))

    compute(out, dtype, no_instance(kernel, dtype) if dtype.is_complex else within, *operands)


def _no_half(kernel: str, dtype: DType) -> None:
    if dtype is float16:
        no_instance(kernel, dtype)()


def erfc_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def erfc_out(self: Tensor, out: Tensor) -> None:
    """1 - erf(self)"""
    in_doubles(special_arrays.erfc, "erfc_vml_cpu", out, float_type(self._dtype), self)


def erfinv_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def erfinv_out(self: Tensor, out: Tensor) -> None:
    """The number whose error function is self; infinite at 1 and -1, nan outside."""
    in_doubles(special_arrays.erfinv, "erfinv_vml_cpu", out, float_type(self._dtype), self)


def i0_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def i0_out(self: Tensor, out: Tensor) -> None:
    """The modified Bessel function of the first kind and order 0."""
    in_doubles(special_arrays.i0, "i0_vml_cpu", out, float_type(self._dtype), self)


def special_i0e_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def special_i0e_out(self: Tensor, out: Tensor) -> None:
    """i0 times exp(-abs(self))"""
    in_doubles(special_arrays.i0e, "i0e_cpu", out, float_type(self._dtype), self)


def special_i1_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def special_i1_out(self: Tensor, out: Tensor) -> None:
    """The modified Bessel function of the first kind and order 1."""
    in_doubles(special_arrays.i1, "i1_cpu", out, float_type(self._dtype), self)


def special_i1e_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def special_i1e_out(self: Tensor, out: Tensor) -> None:
    """i1 times exp(-abs(self))"""
    in_doubles(special_arrays.i1e, "i1e_cpu", out, float_type(self._dtype), self)


def special_erfcx_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def special_erfcx_out(self: Tensor, out: Tensor) -> None:
    """erfc times exp(self ** 2)"""
    _no_half("erfcx_cpu", self._dtype)
    in_doubles(special_arrays.erfcx, "erfcx_cpu", out, float_type(self._dtype), self)


def special_ndtri_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def special_ndtri_out(self: Tensor, out: Tensor) -> None:
    """The inverse of the normal distribution function"""
    _no_half("ndtri_cpu", self._dtype)
    in_doubles(special_arrays.ndtri, "ndtri_cpu", out, float_type(self._dtype), self)


def special_log_ndtr_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def special_log_ndtr_out(self: Tensor, out: Tensor) -> None:
    """The logarithm of the normal distribution function."""
    _no_half("log_ndtr_cpu", self._dtype)
    in_doubles(special_arrays.log_ndtr, "log_ndtr_cpu", out, float_type(self._dtype), self)


def special_entr_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def special_entr_out(self: Tensor, out: Tensor) -> None:
    """-self * log(self); 0 at 0, minus infinity below 0"""
    in_doubles(special_arrays.entr, "entr_cpu", out, float_type(self._dtype), self)


def special_ndtr(self: Tensor) -> Tensor:
    """The normal distribution function."""
    scaled = ops.mul_Scalar.call(self, math.sqrt(0.5))
    return ops.mul_Scalar.call(ops.add_Scalar.call(ops.erf.call(scaled), 1, 1), 0.5)


def special_ndtr_out(self: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``special_ndtr``."""
    area = special_ndtr(self)
    check_can_cast(area._dtype, out)
    return copied_to(out, area)


def copied_to(out: Tensor, result: Tensor) -> Tensor:
    """Resize an ``out=`` tensor and copy a result into it."""
    if out._size != result._size:
        resize_output(out, result._size, contiguous_strides(result._size))
    return ops.copy_.call(out, result, False)


def special_xlogy(self: Tensor, other: Tensor) -> Tensor:
    """An alias of ``xlogy``."""
    return ops.xlogy_Tensor.call(self, other)


def special_xlogy_self_scalar(self: Scalar, other: Tensor) -> Tensor:
    """``special_xlogy`` of a number and a tensor."""
    return ops.xlogy_Scalar_Self.call(self, other)


def special_xlogy_other_scalar(self: Tensor, other: Scalar) -> Tensor:
    """``special_xlogy`` of a tensor and a number."""
    return ops.xlogy_Scalar_Other.call(self, other)


def special_xlogy_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``special_xlogy``."""
    return ops.xlogy_OutTensor.call(self, other, out)


def special_xlogy_self_scalar_out(self: Scalar, other: Tensor, out: Tensor) -> Tensor:
    """Write ``special_xlogy`` of a number and a tensor into ``out``."""
    return ops.xlogy_OutScalar_Self.call(self, other, out)


def special_xlogy_other_scalar_out(self: Tensor, other: Scalar, out: Tensor) -> Tensor:
    """Write ``special_xlogy`` of a tensor and a number into ``out``."""
    return ops.xlogy_OutScalar_Other.call(self, other, out)


def special_round(self: Tensor, decimals: int) -> Tensor:
    """An alias of ``round``."""
    return ops.round_decimals.call(self, decimals)


def special_round_out(self: Tensor, decimals: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``special_round``."""
    return ops.round_decimals_out.call(self, decimals, out)


def special_softmax(self: Tensor, dim: int, dtype: DType | None) -> Tensor:
    """An alias of ``softmax``."""
    return ops.softmax_int.call(self, dim, dtype)


def special_log_softmax(self: Tensor, dim: int, dtype: DType | None) -> Tensor:
    """An alias of ``log_softmax``."""
    return ops.log_softmax_int.call(self, dim, dtype)


def special_xlog1py_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self, other)


def special_xlog1py_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """self * log(1 + other); 0 where self is 0, unless other is nan"""
    dtype = float_type(result_type(self, other))
    in_doubles(special_arrays.xlog1py, "xlog1py_cpu", out, dtype, self, other)


def special_xlog1py_self_scalar(self: Scalar, other: Tensor) -> Tensor:
    """``special_xlog1py`` of a number and a tensor."""
    return ops.special_xlog1py.call(wrapped_scalar_tensor(self), other)


def special_xlog1py_other_scalar(self: Tensor, other: Scalar) -> Tensor:
    """``special_xlog1py`` of a tensor and a number."""
    return ops.special_xlog1py.call(self, wrapped_scalar_tensor(other))


def special_xlog1py_out_self_scalar_out(self: Scalar, other: Tensor, out: Tensor) -> Tensor:
    """Write ``special_xlog1py`` of a number and a tensor into ``out``."""
    return ops.special_xlog1py_out.call(wrapped_scalar_tensor(self), other, out)


def special_xlog1py_out_other_scalar_out(self: Tensor, other: Scalar, out: Tensor) -> Tensor:
    """Write ``special_xlog1py`` of a tensor and a number into ``out``."""
    return ops.special_xlog1py_out.call(self, wrapped_scalar_tensor(other), out)


def special_zeta_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self, other)


def special_zeta_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """The sum of (other + k) ** -self over all k from 0"""
    dtype = float_type(result_type(self, other))
    _no_half("zeta_cpu", dtype)
    in_doubles(special_arrays.zeta, "zeta_cpu", out, dtype, self, other)


def special_zeta_self_scalar(self: Scalar, other: Tensor) -> Tensor:
    """``special_zeta`` of a number and a tensor."""
    return ops.special_zeta.call(wrapped_scalar_tensor(self), other)


def special_zeta_other_scalar(self: Tensor, other: Scalar) -> Tensor:
    """``special_zeta`` of a tensor and a number."""
    return ops.special_zeta.call(self, wrapped_scalar_tensor(other))


def special_zeta_out_self_scalar_out(self: Scalar, other: Tensor, out: Tensor) -> Tensor:
    """Write ``special_zeta`` of a number and a tensor into ``out``."""
    return ops.special_zeta_out.call(wrapped_scalar_tensor(self), other, out)


def special_zeta_out_other_scalar_out(self: Tensor, other: Scalar, out: Tensor) -> Tensor:
    """Write ``special_zeta`` of a tensor and a number into ``out``."""
    return ops.special_zeta_out.call(self, wrapped_scalar_tensor(other), out)
