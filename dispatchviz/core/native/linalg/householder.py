"""Householder reflectors: ``householder_product``, ``orgqr``, ``ormqr`` (``BatchLinearAlgebra.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import store
from dispatchviz.core.native.linalg import lapack
from dispatchviz.core.native.linalg.cholesky import copied, fits_column_major
from dispatchviz.core.native.linalg.matrix_checks import (
    check_lapack_dtype,
    check_linalg_compatible_dtype,
    check_same_device,
)
from dispatchviz.core.native.linalg.qr import workspace
from dispatchviz.core.tensor.tensor import Tensor

# -- householder_product -----------------------------------------------------------------------------------------------


def linalg_householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of the reflectors."""
    result = ops.empty_memory_format.call((0,), input._dtype, "strided", input._device, None, None)
    return ops.linalg_householder_product_out.call(input, tau, result)


def linalg_householder_product_out(input: Tensor, tau: Tensor, out: Tensor) -> Tensor:
    """Compute ``linalg_householder_product`` in ``out`` if LAPACK can work there, otherwise in a copy."""
    _check_householder(input, tau, out)
    if fits_column_major(out, input):
        return _householder_helper(input, tau, out)
    made = ops.empty_memory_format.call((0,), input._dtype, "strided", input._device, None, None)
    return copied(out, _householder_helper(input, tau, made))


def _check_householder(input: Tensor, tau: Tensor, out: Tensor) -> None:
    function, sizes = "torch.linalg.householder_product", input._size
    if len(sizes) < 2:
        raise RuntimeError(f"{function}: input must have at least 2 dimensions.")
    if sizes[-2] < sizes[-1]:
        raise RuntimeError(f"{function}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if sizes[-1] < tau._size[-1]:
        raise RuntimeError(f"{function}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    check_reflectors(function, input, tau)
    if tau._dtype is not input._dtype:
        raise RuntimeError(
            f"{function}: tau dtype {tau._dtype.legacy} does not match input dtype {input._dtype.legacy}"
        )
    check_same_device(function, tau, input, "tau")
    check_same_device(function, out, input)
    check_linalg_compatible_dtype(function, out, input._dtype)


def check_reflectors(function: str, input: Tensor, tau: Tensor) -> None:
    """Raise RuntimeError unless there is one vector of factors for each matrix."""
    if len(input._size) - len(tau._size) != 1:
        raise RuntimeError(
            f"{function}: Expected tau to have one dimension less than input, but got tau.ndim equal to "
            f"{len(tau._size)} and input.ndim is equal to {len(input._size)}"
        )
    if tau._size[:-1] != input._size[:-2]:
        raise RuntimeError(
            f"{function}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{list(tau._size[:-1])}"
        )


def _householder_helper(input: Tensor, tau: Tensor, result: Tensor) -> Tensor:
    if 0 in result._size:
        _resize_column_major(result, input)
    assert ops.mT.call(result)._is_contiguous, "LAPACK wants columns"
    tau = _contiguous(tau)
    ops.copy_.call(result, input, False)
    if 0 in result._size:
        return result
    check_lapack_dtype("orgqr_cpu", result._dtype)
    store(result, lapack.xorgqr(result._array, tau._array))
    workspace(result)
    return result


def _resize_column_major(result: Tensor, like: Tensor) -> None:
    ops.resize_.call(result, ops.mT.call(like)._size, "contiguous_format")
    ops.transpose_.call(result, -2, -1)


def _contiguous(tau: Tensor) -> Tensor:
    if tau._is_contiguous:
        return tau
    copy = ops.empty_memory_format.call(tau._size, tau._dtype, "strided", tau._device, None, "contiguous_format")
    return ops.copy_.call(copy, tau, False)


def orgqr(self: Tensor, input2: Tensor) -> Tensor:
    """The old name of ``linalg_householder_product``."""
    return ops.linalg_householder_product.call(self, input2)


def orgqr_out(self: Tensor, input2: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``orgqr``."""
    return ops.linalg_householder_product_out.call(self, input2, out)


# -- ormqr -------------------------------------------------------------------------------------------------------------


def ormqr(self: Tensor, input2: Tensor, input3: Tensor, left: bool, transpose: bool) -> Tensor:
    """A matrix times the product of the reflectors."""
    result = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    return ormqr_out(self, input2, input3, left, transpose, result)


def ormqr_out(self: Tensor, input2: Tensor, input3: Tensor, left: bool, transpose: bool, out: Tensor) -> Tensor:
    """Compute ``ormqr`` in ``out`` if LAPACK can work there, otherwise in a copy."""
    _check_ormqr(self, input2, input3, left, out)
    if fits_column_major(out, input3):
        _ormqr_helper(self, input2, input3, left, transpose, out)
        return out
    made = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    _ormqr_helper(self, input2, input3, left, transpose, made)
    return copied(out, made)


def _check_ormqr(self: Tensor, tau: Tensor, other: Tensor, left: bool, out: Tensor) -> None:
    function, side = "torch.ormqr", -2 if left else -1
    for name, tensor in (("input", self), ("other", other)):
        if len(tensor._size) < 2:
            raise RuntimeError(f"{function}: {name} must have at least 2 dimensions.")
    if other._size[side] != self._size[-2]:
        raise RuntimeError(f"{function}: other.shape[{side}] must be equal to input.shape[-2]")
    if tau._size[-1] != min(other._size[side], self._size[-1]):
        raise RuntimeError(f"{function}: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    check_reflectors(function, self, tau)
    _check_like_input(function, self, tau, other, out)


def _check_like_input(function: str, self: Tensor, tau: Tensor, other: Tensor, out: Tensor) -> None:
    if len(self._size) != len(other._size):
        raise RuntimeError(
            f"{function}: Expected other to have the same number of dimensions as input, but got other.ndim equal to "
            f"{len(other._size)} and input.ndim is equal to {len(self._size)}"
        )
    if other._size[:-2] != self._size[:-2]:
        raise RuntimeError(
            f"{function}: Expected batch dimensions of other to be equal to input.shape[:-2], but got "
            f"{list(other._size[:-2])}"
        )
    for name, tensor in (("tau", tau), ("other", other), ("result", out)):
        if tensor._dtype is not self._dtype:
            raise RuntimeError(
                f"{function}: Expected input and {name} to have the same dtype, but input has dtype"
                f"{self._dtype.legacy} and {name} has dtype {tensor._dtype.legacy}"
            )
    for name, tensor in (("tau", tau), ("other", other), ("result", out)):
        check_same_device(function, tensor, self, name)


def _ormqr_helper(self: Tensor, tau: Tensor, other: Tensor, left: bool, transpose: bool, result: Tensor) -> None:
    if 0 in result._size:
        _resize_column_major(result, other)
    tau = _contiguous(tau)
    if not ops.mT.call(self)._is_contiguous:
        size = ops.mT.call(self)._size
        copy = ops.empty_memory_format.call(size, self._dtype, "strided", self._device, None, "contiguous_format")
        self = ops.copy_.call(ops.transpose_.call(copy, -2, -1), self, False)
    ops.copy_.call(result, other, False)
    if 0 in result._size:
        return
    check_lapack_dtype("ormqr_cpu", result._dtype)
    store(result, lapack.xormqr(self._array, tau._array, result._array, left, transpose))
    workspace(result)
