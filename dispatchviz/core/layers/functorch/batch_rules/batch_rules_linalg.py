"""Batch rules of ``dot``, ``mv``, ``addmm``, ``addmv``, ``baddbmm``: decomposed to ``matmul``, which supports batches
(``BatchRulesLinearAlgebra.cpp``).

If only one of two factors is batched, the other is not expanded.
"""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    move_batch_dim_to_front,
    rank_without_batch_dim,
)
from dispatchviz.core.layers.functorch.plumbing import Batched, BatchRule, Kernel, plumbed
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.tensor.tensor import Tensor


def dot(a: Tensor, a_bdim: int | None, b: Tensor, b_bdim: int | None) -> Batched:
    """Multiply rows by columns if both are batched."""
    if rank_without_batch_dim(a, a_bdim) != 1 or rank_without_batch_dim(b, b_bdim) != 1:
        raise RuntimeError("Got wrong shapes for dot")
    first, second = move_batch_dim_to_front(a, a_bdim), move_batch_dim_to_front(b, b_bdim)
    if a_bdim is None or b_bdim is None:
        return ops.matmul.call(first, ops.t.call(second)), 0
    column = ops.unsqueeze.call(second, -1)
    product = ops.matmul.call(ops.unsqueeze.call(first, -2), column)
    return ops.squeeze_dim.call(ops.squeeze_dim.call(product, -1), -1), 0


def addmm_decomp(ks: int, self: Tensor, mat1: Tensor, mat2: Tensor, beta: Scalar, alpha: Scalar) -> Tensor:
    """Decompose on the batched tensors themselves. C++ evaluates the second argument of ``add`` first."""
    product = ops.mm.call(mat1, mat2)
    return ops.add_Tensor.call(ops.mul_Scalar.call(self, beta), product, alpha)


def vdot_decomp(ks: int, self: Tensor, other: Tensor) -> Tensor:
    """Call ``dot`` with the first factor conjugated, on the batched tensors themselves."""
    return ops.dot.call(ops._conj.call(self) if self._dtype.is_complex else self, other)


def mv(self: Tensor, self_bdim: int | None, other: Tensor, other_bdim: int | None) -> Batched:
    """Multiply, in one of three ways depending on which factors are batched (``tv_batch_rule``)."""
    _check_ranks("mv", (self, self_bdim, 2), (other, other_bdim, 1))
    if self_bdim is not None and other_bdim is not None:
        matrices = ops.movedim_int.call(self, self_bdim, -3)
        columns = ops.unsqueeze.call(move_batch_dim_to_front(other, other_bdim), -1)
        result = ops.squeeze_dim.call(ops.matmul.call(matrices, columns), -1)
        return result, len(result._size) - 2
    if self_bdim is not None:
        return ops.matmul.call(move_batch_dim_to_front(self, self_bdim), other), 0
    assert other_bdim is not None
    return ops.matmul.call(self, ops.movedim_int.call(other, other_bdim, -1)), 1


def _product(name: str, rank: int) -> BatchRule:
    """Return the rule of a product (``mm_batch_rule``, ``bmm_batch_rule``)."""

    def rule(self: Tensor, self_bdim: int | None, other: Tensor, other_bdim: int | None) -> Batched:
        _check_ranks(name, (self, self_bdim, rank), (other, other_bdim, rank))
        first, second = move_batch_dim_to_front(self, self_bdim), move_batch_dim_to_front(other, other_bdim)
        return ops.matmul.call(first, second), 0

    return rule


def _check_ranks(name: str, a: tuple[Tensor, int | None, int], b: tuple[Tensor, int | None, int]) -> None:
    found = [rank_without_batch_dim(tensor, bdim) for tensor, bdim, _ in (a, b)]
    if found != [a[2], b[2]]:
        raise RuntimeError(  # the missing spaces are PyTorch's
            f"Shape mismatch: Got incorrect dims for {name}(a, b). a has dim {found[0]}and b has dim {found[1]}but "
            f"expected them to have dim {a[2]} and dim {b[2]}"
        )


def addmv_decomp(ks: int, input: Tensor, mat: Tensor, vec: Tensor, beta: Scalar, alpha: Scalar) -> Tensor:
    """Decompose on the batched tensors themselves."""
    return _added(input, ops.mv.call(mat, vec), beta, alpha)


def baddbmm_decomp(ks: int, input: Tensor, batch1: Tensor, batch2: Tensor, beta: Scalar, alpha: Scalar) -> Tensor:
    """Decompose on the batched tensors themselves."""
    return _added(input, ops.bmm.call(batch1, batch2), beta, alpha)


def addbmm_decomp(ks: int, input: Tensor, batch1: Tensor, batch2: Tensor, beta: Scalar, alpha: Scalar) -> Tensor:
    """Decompose on the batched tensors themselves."""
    return _added(input, ops.sum_dim_IntList.call(ops.bmm.call(batch1, batch2), (0,), False, None), beta, alpha)


def _added(input: Tensor, out: Tensor, beta: Scalar, alpha: Scalar) -> Tensor:
    if alpha != 1:
        out = ops.mul_Scalar.call(out, alpha)
    if beta != 0:
        out = ops.add_Tensor.call(ops.mul_Scalar.call(input, beta), out, 1)
    return out


KERNELS: dict[str, Kernel] = {
    "dot": plumbed("dot", dot),
    "mv": plumbed("mv", mv),
    "mm": plumbed("mm", _product("mm", 2)),
    "bmm": plumbed("bmm", _product("bmm", 3)),
    "addmv": addmv_decomp,
    "addmm": addmm_decomp,
    "addbmm": addbmm_decomp,
    "baddbmm": baddbmm_decomp,
    "vdot": vdot_decomp,
}
"""Kernels for FuncTorchBatched."""
