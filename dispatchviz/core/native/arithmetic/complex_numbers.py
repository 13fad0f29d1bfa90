"""``complex``, ``polar``, ``abs``, ``angle``: complex tensors from real ones, and the reverse
(``aten/src/ATen/native/{TensorFactories,UnaryOps}.cpp``).

The loops of ``abs`` and ``angle`` return complex numbers with the imaginary part 0 for complex inputs. Their real parts
are copied to the output.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from dispatchviz.core.call.structured import resize_output
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.strides import result_geometry
from dispatchviz.core.native.iterator.tensor_iterator import (
    check_can_cast,
    compute,
    float_type,
    no_instance,
    operand,
    out_elementwise,
    quiet,
    store,
)
from dispatchviz.core.tensor.dtype import DType, bool_, float32, float64
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides

# -- from two real tensors ---------------------------------------------------------------------------------------------


def complex(real: Tensor, imag: Tensor) -> Tensor:
    """real + i * imag. Raise RuntimeError unless both have the same floating dtype."""
    return ops.complex_out.call(real, imag, _empty_whole(real, imag))


def complex_out(real: Tensor, imag: Tensor, out: Tensor) -> Tensor:
    """Write ``complex`` into ``out``. Raise RuntimeError if ``out`` has another dtype."""
    return _combined(lambda xp, a, b: (a, b), real, imag, out)


def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """abs * (cos(angle) + i * sin(angle)). Raise RuntimeError unless both have the same floating dtype."""
    return ops.polar_out.call(abs, angle, _empty_whole(abs, angle))


def polar_out(abs: Tensor, angle: Tensor, out: Tensor) -> Tensor:
    """Write ``polar`` into ``out``. Raise RuntimeError if ``out`` has another dtype."""
    return _combined(lambda xp, size, angle: (size * xp.cos(angle), size * xp.sin(angle)), abs, angle, out)


def _empty_whole(first: Tensor, second: Tensor) -> Tensor:
    _check_floating(first, second)
    return ops.empty_memory_format.call((0,), first._dtype.to_complex(), "strided", first._device, None, None)


def _combined(parts: Callable[..., Any], first: Tensor, second: Tensor, out: Tensor) -> Tensor:
    _check_dtypes(first, second, out)
    out_elementwise(out, first, second)
    if out._array is None:
        return out
    kind = out._device.type
    arrays = [operand(each, first._dtype, kind) for each in (first, second)]
    xp = array_module(kind)
    values = xp.empty(out._size, out._dtype.numpy)
    values.real, values.imag = quiet.run(parts, xp, *arrays)
    store(out, values)
    return out


def _check_floating(first: Tensor, second: Tensor) -> None:
    """Raise RuntimeError unless both have the same floating dtype.

    NB: there is no complex32 here, so half precision is refused too, with PyTorch's message.
    """
    if not {first._dtype, second._dtype} <= {float32, float64}:
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {first._dtype.legacy} and "
            f"{second._dtype.legacy}"
        )


def _check_dtypes(first: Tensor, second: Tensor, out: Tensor) -> None:
    _check_floating(first, second)
    if first._dtype is not second._dtype:
        raise _expected(first._dtype, second._dtype, "second argument")
    if out._dtype is not first._dtype.to_complex():
        raise _expected(first._dtype.to_complex(), out._dtype, "argument 'out'")


def _expected(wanted: DType, found: DType, argument: str) -> RuntimeError:
    return RuntimeError(
        f"Expected object of scalar type {wanted.legacy} but got scalar type {found.legacy} for {argument}"
    )


# -- abs, angle --------------------------------------------------------------------------------------------------------


def abs(self: Tensor) -> Tensor:
    """The absolute value; real for complex tensors."""
    if self._dtype.is_complex:
        out = ops.empty_like.call(self, self._dtype.to_real(), "strided", self._device, None, None)
    else:
        out = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    return ops.abs_out.call(self, out)


def abs_(self: Tensor) -> Tensor:
    """The in-place version of ``abs``. Raise RuntimeError for complex."""
    if self._dtype.is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return ops.abs_out.call(self, self)


def abs_out(self: Tensor, out: Tensor) -> Tensor:
    """Write ``abs`` into ``out``. Raise RuntimeError if ``out`` cannot hold the result."""
    if self._dtype.is_complex and not out._dtype.is_complex:
        return _real_part_of(_absolute, self, out)
    return _absolute(self, out)


def _absolute(self: Tensor, out: Tensor) -> Tensor:
    out_elementwise(out, self, same=True)
    if out._array is not None:
        absolute = no_instance("abs_cpu", bool_) if self._dtype is bool_ else array_module(out._device.type).abs
        compute(out, self._dtype, absolute, self)
    return out


def absolute(self: Tensor) -> Tensor:
    """An alias of ``abs``."""
    return ops.abs.call(self)


def absolute_(self: Tensor) -> Tensor:
    """An alias of ``abs_``."""
    return ops.abs_.call(self)


def absolute_out(self: Tensor, out: Tensor) -> Tensor:
    """Write ``abs`` into ``out`` (an alias)."""
    return ops.abs_out.call(self, out)


def angle(self: Tensor) -> Tensor:
    """The angle between self and the positive real axis, from -pi to pi; a real floating dtype."""
    if self._dtype.is_complex:
        out = ops.empty_memory_format.call((0,), self._dtype.to_real(), "strided", self._device, None, None)
        return ops.angle_out.call(self, out)
    size, stride = result_geometry(((self._size, self._stride),))
    options = float_type(self._dtype), "strided", self._device, None
    if stride == contiguous_strides(size):
        return _angle(self, ops.empty_memory_format.call(size, *options, None))
    return _angle(self, ops.empty_strided.call(size, stride, *options))


def angle_out(self: Tensor, out: Tensor) -> Tensor:
    """Write ``angle`` into ``out``. Raise RuntimeError if ``out`` cannot hold the result."""
    if self._dtype.is_complex and not out._dtype.is_complex:
        return _real_part_of(_angle, self, out)
    return _angle(self, out)


def _angle(self: Tensor, out: Tensor) -> Tensor:
    dtype = float_type(self._dtype)
    out_elementwise(out, self)
    check_can_cast(dtype, out)
    if out._array is not None:
        compute(out, dtype, _angle_of_complex if dtype.is_complex else _angle_of_real, self)
    return out


def _angle_of_complex(values: Any) -> Any:
    return numpy.arctan2(values.imag, values.real)


def _angle_of_real(values: Any) -> Any:
    """The angle of real numbers: 0 or pi; nan stays nan."""
    return numpy.where(numpy.isnan(values), values, (values < 0) * values.dtype.type(math.pi))


def _real_part_of(into: Callable[[Tensor, Tensor], Tensor], self: Tensor, out: Tensor) -> Tensor:
    """Compute complex numbers and copy their real parts."""
    check_can_cast(self._dtype.to_real(), out)
    result = into(self, ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None))
    if out._size != result._size:
        resize_output(out, result._size, contiguous_strides(result._size))
    return ops.copy_.call(out, ops.real.call(result), False)
