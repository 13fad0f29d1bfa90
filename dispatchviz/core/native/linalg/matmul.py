"""``matmul``: chooses the product by the number of dimensions (``_matmul_impl`` in ``LinearAlgebra.cpp``).

It sets no guard, so derivatives come from the operators that it calls.
"""

from __future__ import annotations

from dispatchviz.core.autograd.variables.variable import requires_grad
from dispatchviz.core.call.structured import broadcast_sizes, resize_in_order
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Size, Tensor, numel
from dispatchviz.core.thread.thread_state import thread


def matmul(self: Tensor, other: Tensor) -> Tensor:
    """The matrix product, also of vectors and batches of matrices."""
    _check_ranks(self, other)
    match len(self._size), len(other._size):
        case 1, 1:
            return ops.dot.call(self, other)
        case 2, 1:
            return ops.mv.call(self, other)
        case 1, 2:
            return ops.squeeze__dim.call(ops.mm.call(ops.unsqueeze.call(self, 0), other), 0)
        case 2, 2:
            return ops.mm.call(self, other)
    return _folded(self, other) if _should_fold(self, other, False) else _batched(self, other)


def matmul_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """Write ``matmul`` into ``out``. Raise RuntimeError if a gradient would be lost."""
    _check_ranks(self, other)
    if thread.state.grad_mode and any(map(requires_grad, (self, other, out))):
        raise RuntimeError(
            "matmul(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    match len(self._size), len(other._size):
        case 1, 1:
            return ops.dot_out.call(self, other, out)
        case 2, 1:
            return ops.mv_out.call(self, other, out)
        case 1, 2:
            return ops.squeeze__dim.call(ops.mm_out.call(ops.unsqueeze.call(self, 0), other, out), 0)
        case 2, 2:
            return ops.mm_out.call(self, other, out)
    return _folded_out(self, other, out) if _should_fold(self, other, True) else _batched_out(self, other, out)


def _check_ranks(self: Tensor, other: Tensor) -> None:
    if not self._size or not other._size:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {len(self._size)}D and {len(other._size)}D"
        )


# -- folding: one mm instead of a bmm ----------------------------------------------------------------------------------


def _should_fold(self: Tensor, other: Tensor, has_out: bool) -> bool:
    """Return whether the larger tensor's batch can become the rows of one matrix without a copy.

    It is folded in any case if the smaller tensor requires grad: its gradient is then one matrix, not a batch of
    matrices.
    """
    first_larger = len(self._size) >= len(other._size)
    large, small = (self, other) if first_larger else (ops.mT.call(other), self)
    if len(large._size) < 3 or len(small._size) > 2:
        return False
    if requires_grad(small) and not has_out:
        return True
    if len(self._size) == 2:
        return False
    if 0 in large._size:
        return True
    size, stride = large._size, large._stride
    return all(stride[i] == stride[i + 1] * size[i + 1] for i in range(len(size) - 2))


def _fold(self: Tensor, other: Tensor) -> tuple[Tensor, Tensor, Size]:
    """The larger tensor as a matrix, the smaller one, and the shape of the result."""
    transposed = len(other._size) > len(self._size)
    large = ops.mT.call(other) if transposed else self
    small = other if not transposed else ops.t.call(self) if len(self._size) == 2 else self
    lead, inner = large._size[:-1], large._size[-1]
    shape = (*lead, small._size[1]) if len(small._size) == 2 else lead
    return ops.reshape.call(large, (numel(lead), inner)), small, shape


def _folded(self: Tensor, other: Tensor) -> Tensor:
    folded, small, shape = _fold(self, other)
    if len(small._size) == 1:
        return ops._unsafe_view.call(ops.mv.call(folded, small), shape)
    output = ops._unsafe_view.call(ops.mm.call(folded, small), shape)
    if len(other._size) <= len(self._size):
        return output
    swapped = ops.mT.call(output)
    return swapped if swapped._is_contiguous else ops.contiguous.call(swapped, "contiguous_format")


def _folded_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    folded, small, shape = _fold(self, other)
    resize_in_order(out, shape)
    if len(small._size) == 2:
        reshaped = ops.reshape.call(out, (folded._size[0], small._size[1]))
        ops.mm_out.call(folded, small, reshaped)
    else:
        reshaped = ops.reshape.call(out, (folded._size[0],))
        ops.mv_out.call(folded, small, reshaped)
    if reshaped._storage is not out._storage:
        ops.copy_.call(out, reshaped, False)
    return out


# -- batches: bmm ------------------------------------------------------------------------------------------------------


def _batched(self: Tensor, other: Tensor) -> Tensor:
    both = len(self._size) == len(other._size) == 3 and self._size[0] != other._size[0]
    if both and self._size[0] == 1 and requires_grad(self):
        return matmul(ops.squeeze_dim.call(self, 0), other)
    if both and other._size[0] == 1 and requires_grad(other):
        return matmul(self, ops.squeeze_dim.call(other, 0))
    left, right, shape = _expanded(self, other)
    product = ops.bmm.call(left, right)
    if len(other._size) == 1:
        product = ops.squeeze_dim.call(product, -1)
    return ops._unsafe_view.call(product, shape)


def _batched_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    left, right, shape = _expanded(self, other)
    resize_in_order(out, shape)
    reshaped = ops.reshape.call(out, (left._size[0], left._size[1], right._size[2]))
    ops.bmm_out.call(left, right, reshaped)
    if len(other._size) == 1:
        reshaped = ops.squeeze_dim.call(reshaped, -1)
    if reshaped._storage is not out._storage:
        ops.copy_.call(out, ops.view.call(reshaped, out._size), False)
    return out


def _expanded(self: Tensor, other: Tensor) -> tuple[Tensor, Tensor, Size]:
    """Both tensors as equally long batches of matrices, and the shape of the result."""
    rows = self._size[-2:-1]
    columns = other._size[-1:] if len(other._size) > 1 else ()
    batch = broadcast_sizes(self._size[:-2], other._size[:-2])
    count, inner = numel(batch), self._size[-1]
    left = ops.expand.call(self, (*batch, *(rows or (1,)), inner), False)
    left = ops.reshape.call(left, (count, *(rows or (1,)), inner))
    right = ops.expand.call(other, (*batch, *other._size[-2:]), False)
    right = ops.reshape.call(right, (count, *other._size[-2:]))
    if not columns:
        right = ops.unsqueeze.call(right, 2)
    return left, right, (*batch, *rows, *columns)
