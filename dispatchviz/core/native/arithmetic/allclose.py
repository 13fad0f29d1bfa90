"""``equal``, ``isclose``, ``allclose``, ``isfinite`` (``aten/src/ATen/native/TensorCompare.cpp``,
``ReduceOps.cpp``)."""

from __future__ import annotations

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import cast_operands, result_type
from dispatchviz.core.tensor.dtype import bool_, default_dtype
from dispatchviz.core.tensor.tensor import Tensor


def cpu_equal(self: Tensor, other: Tensor) -> bool:
    """Return whether sizes and elements are equal; nan is not equal to itself."""
    if not ops.is_same_size.call(self, other):
        return False
    return _equal(*cast_operands(result_type(self, other), self, other))


def cuda_equal(self: Tensor, other: Tensor) -> bool:
    """Return whether sizes and elements are equal; nan is not equal to itself."""
    return ops.is_same_size.call(self, other) and _equal(self, other)


def _equal(self: Tensor, other: Tensor) -> bool:
    return bool(array_module(self._device.type).array_equal(self._array, other._array))


def isfinite(self: Tensor) -> Tensor:
    """A mask of the elements that are neither infinite nor nan; integers always are finite."""
    if not self._dtype.can_require_grad:
        return ops.ones_like.call(self, bool_, None, None, None, "preserve_format")
    if self._dtype.is_complex:
        real = ops.isfinite.call(ops.real.call(self))
        return ops._iand___Tensor.call(real, ops.isfinite.call(ops.imag.call(self)))
    finite = ops.ne_Scalar.call(ops.abs.call(self), float("inf"))
    return ops.mul_Tensor.call(ops.eq_Tensor.call(self, self), finite)


def isclose(self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> Tensor:
    """A mask of the elements that are equal or differ by at most ``atol + rtol * abs(other)``.

    Raise RuntimeError for tensors of two dtypes and for negative tolerances.
    """
    if self._dtype is not other._dtype:
        raise RuntimeError(f"{self._dtype.legacy} did not match {other._dtype.legacy}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:  # NaN is refused too
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance:g}")
    close = ops.eq_Tensor.call(self, other)
    if equal_nan and self._dtype.can_require_grad:
        ops._ior___Tensor.call(close, ops._iand___Tensor.call(ops.isnan.call(self), ops.isnan.call(other)))
    if rtol == 0 and atol == 0:
        return close
    if self._dtype.name == "bool":
        self = ops.to_dtype.call(self, default_dtype(), False, False, None)
    if not self._dtype.can_require_grad or not other._dtype.can_require_grad:
        other = ops.to_dtype.call(other, default_dtype(), False, False, None)
    allowed = ops.add_Scalar.call(ops.abs.call(ops.mul_Scalar.call(other, rtol)), atol, 1)
    actual = ops.abs.call(ops.sub_Tensor.call(self, other, 1))
    near = ops._iand___Tensor.call(ops.isfinite.call(actual), ops.le_Tensor.call(actual, allowed))
    return ops._ior___Tensor.call(close, near)


def allclose(self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> bool:
    """Return whether all elements are close (``isclose``)."""
    return bool(ops.item.call(ops.all.call(ops.isclose.call(self, other, rtol, atol, equal_nan))))
