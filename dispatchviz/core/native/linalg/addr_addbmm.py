"""``addr``, ``addbmm``: an outer product, or the sum of the matrix products of a batch, added to a tensor
(``aten/src/ATen/native/LinearAlgebra.cpp``).
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar, convert
from dispatchviz.core.native.iterator.tensor_iterator import (
    cast_operands,
    check_can_cast,
    compute,
    new_output,
    out_elementwise,
    result_type,
)
from dispatchviz.core.tensor.dtype import DType, bool_
from dispatchviz.core.tensor.tensor import Size, Tensor


def _expanded(self: Tensor, size: Size) -> Tensor:
    return self if self._size == size else ops.expand.call(self, size, False)


# -- addr --------------------------------------------------------------------------------------------------------------


def addr(self: Tensor, vec1: Tensor, vec2: Tensor, beta: Scalar, alpha: Scalar) -> Tensor:
    """beta * self + alpha * outer(vec1, vec2); if beta is 0, the contents of self are ignored"""
    _check_addr(self, vec1, vec2, beta, alpha)
    self = _expanded(self, (vec1._size[0], vec2._size[0]))
    column = ops.reshape.call(vec1, (vec1._size[0], 1))
    self, column, vec2 = cast_operands(result_type(self, column, vec2), self, column, vec2)
    return _addr(self, column, vec2, beta, alpha, new_output(self, column, vec2))


def addr_(self: Tensor, vec1: Tensor, vec2: Tensor, beta: Scalar, alpha: Scalar) -> Tensor:
    """The in-place version of ``addr``."""
    return ops.addr_out.call(self, vec1, vec2, beta, alpha, self)


def addr_out(self: Tensor, vec1: Tensor, vec2: Tensor, beta: Scalar, alpha: Scalar, out: Tensor) -> Tensor:
    """The ``out=`` version of ``addr``."""
    _check_addr(self, vec1, vec2, beta, alpha)
    size = vec1._size[0], vec2._size[0]
    added = self if out is self else _expanded(self, size)
    if len(added._size) != 2:
        raise RuntimeError(f"2D tensor expected, got {len(added._size)}D tensor for input")
    if added._size != size:
        raise RuntimeError(f"size mismatch, input: {list(added._size)}, v1: {list(vec1._size)}, v2: {list(vec2._size)}")
    column = ops.reshape.call(vec1, (size[0], 1))
    out_elementwise(out, added, column, vec2)
    check_can_cast(result_type(added, column, vec2), out)
    return _addr(added, column, vec2, beta, alpha, out)


def _check_addr(self: Tensor, vec1: Tensor, vec2: Tensor, beta: Scalar, alpha: Scalar) -> None:
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if len(vector._size) != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {len(vector._size)}-D")
    dtype = result_type(self, vec1, vec2)
    _check_factor("beta", beta, dtype)
    _check_factor("alpha", alpha, dtype)


def _check_factor(name: str, value: Scalar, dtype: DType) -> None:
    if isinstance(value, bool) and dtype is not bool_:
        raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    if isinstance(value, float) and not dtype.can_require_grad:
        raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    if isinstance(value, complex) and not dtype.is_complex:
        raise RuntimeError(f"For non-complex input tensors, argument {name} must not be a complex number.")


def _addr(self: Tensor, column: Tensor, vec2: Tensor, beta: Scalar, alpha: Scalar, out: Tensor) -> Tensor:
    dtype = result_type(self, column, vec2)
    factors = dtype.numpy.type(convert(beta, dtype)), dtype.numpy.type(convert(alpha, dtype))

    def added(old: Any, first: Any, second: Any) -> Any:
        product = factors[1] * first * second
        return product if not factors[0] else factors[0] * old + product

    if out._array is not None:
        compute(out, dtype, added, self, column, vec2, narrow=True)
    return out


# -- addbmm ------------------------------------------------------------------------------------------------------------


def addbmm(self: Tensor, batch1: Tensor, batch2: Tensor, beta: Scalar, alpha: Scalar) -> Tensor:
    """beta * self + alpha * (the sum of all matrix products)."""
    out = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, False, None)
    return addbmm_out(self, batch1, batch2, beta, alpha, out)


def addbmm_(self: Tensor, batch1: Tensor, batch2: Tensor, beta: Scalar, alpha: Scalar) -> Tensor:
    """The in-place version of ``addbmm``."""
    return addbmm_out(self, batch1, batch2, beta, alpha, self)


def addbmm_out(self: Tensor, batch1: Tensor, batch2: Tensor, beta: Scalar, alpha: Scalar, out: Tensor) -> Tensor:
    """Write ``addbmm`` into ``out``, one product after the other. Raise RuntimeError for shapes that do not fit."""
    added = _expanded(self, (batch1._size[1], batch2._size[2]))
    _check_addbmm(added, batch1, batch2)
    out = ops.resize_as_.call(out, added, None)
    if beta != 0 and out is not added:
        ops.copy_.call(out, added, False)
    if not batch1._size[0]:
        return ops.mul__Scalar.call(out, beta) if beta != 0 else ops.zero_.call(out)
    for i in range(batch1._size[0]):
        matrix = ops.select_int.call(batch2, 0, i)
        ops.addmm_.call(out, ops.select_int.call(batch1, 0, i), matrix, beta, alpha)
        beta = 1
    return out


def _check_addbmm(self: Tensor, batch1: Tensor, batch2: Tensor) -> None:
    if len(batch1._size) != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if len(batch2._size) != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    if batch1._size[0] != batch2._size[0]:
        raise RuntimeError(
            f"batch1 and batch2 must have same number of batches, got {batch1._size[0]} and {batch2._size[0]}"
        )
    if batch1._size[2] != batch2._size[1]:
        (_, n, m), (_, k, p) = batch1._size, batch2._size
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({n}x{m} and {k}x{p})")
