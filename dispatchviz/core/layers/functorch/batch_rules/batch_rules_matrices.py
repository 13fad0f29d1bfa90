"""Batch rules of matrix decompositions and solvers (``BatchRulesLinearAlgebra.cpp``).

These operators support batches of matrices, so the batch goes to the front. Operators of two tensors may need it on
both.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.aten import find
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_binary import binary_pointwise_helper
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    batch_size,
    contiguous,
    ensure_has_bdim,
    maybe_pad_to_logical_rank,
    move_batch_dim_to_front,
    physical_dim,
    rank_without_batch_dim,
)
from dispatchviz.core.layers.functorch.batched_tensor import is_batched_at_level, unwrap_at_level
from dispatchviz.core.layers.functorch.plumbing import (
    Batched,
    BatchRule,
    Kernel,
    call_operator,
    checked_layer,
    exclude_batched,
    plumbed,
)
from dispatchviz.core.tensor.tensor import Tensor, numel

# -- checks ------------------------------------------------------------------------------------------------------------


def _check_matrix(name: str, argument: str, batched: Batched) -> None:
    if rank_without_batch_dim(*batched) < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def _expect_at_least_rank(batched: Batched, expected: int, name: str) -> None:
    rank = rank_without_batch_dim(*batched)
    if rank < expected:
        raise RuntimeError(f"{name} should have at least {expected} dimensions, but has {rank} dimensions instead.")


def _in_front(results: Any) -> tuple[Any, ...]:
    """Return each result with batch dimension 0."""
    return tuple(part for result in results for part in (result, 0))


# -- operators of one matrix -------------------------------------------------------------------------------------------


def of_matrix(name: str, shown: str) -> BatchRule:
    """Return the rule of an operator of one matrix (``LINALG_CHECK_MATRIX_UNARY_BATCH_RULE``). Errors call the function
    ``shown``.
    """

    def rule(tensor: Tensor, bdim: int | None, *extra: Any) -> tuple[Any, ...]:
        _check_matrix(shown, "A", (tensor, bdim))
        results = call_operator(find(f"aten::{name}"), (move_batch_dim_to_front(tensor, bdim), *extra))
        return _in_front(results if isinstance(results, tuple) else (results,))

    return rule


def linalg_lu_factor_ex(A: Tensor, bdim: int | None, pivot: bool, check_errors: bool) -> tuple[Any, ...]:
    """Factor the matrices, with an error text of its own."""
    if rank_without_batch_dim(A, bdim) < 2:
        raise RuntimeError(
            f"torch.lu_factor_ex: Expected tensor with 2 or more dimensions. Got size: {list(A._size)} instead"
        )
    return _in_front(ops.linalg_lu_factor_ex.call(move_batch_dim_to_front(A, bdim), pivot, check_errors))


def linalg_matrix_exp(self: Tensor, self_bdim: int | None) -> Batched:
    """Compute the exponential of contiguous matrices, by the operator's old name."""
    _check_matrix("torch.matrix_exp", "A", (self, self_bdim))
    return ops.matrix_exp.call(contiguous(move_batch_dim_to_front(self, self_bdim))), 0


def _linalg_check_errors_plumbing(ks: int, info: Tensor, api_name: str, is_matrix: bool) -> None:
    """Check one number for each example: these are several matrices."""
    with exclude_batched():
        level = checked_layer("gen_vmap_plumbing_no_returns").level
        if not is_batched_at_level(info, level):
            ops._linalg_check_errors.call(info, api_name, is_matrix)
            return
        ops._linalg_check_errors.call(move_batch_dim_to_front(*unwrap_at_level(info, level)), api_name, False)


def linalg_pinv(
    input: Tensor,
    input_bdim: int | None,
    atol: Tensor | None,
    atol_bdim: int | None,
    rtol: Tensor | None,
    rtol_bdim: int | None,
    hermitian: bool,
) -> Batched:
    """Compute the pseudoinverse. The tolerances have a number for each matrix."""
    if rank_without_batch_dim(input, input_bdim) < 2:
        raise RuntimeError("linalg.pinv: The input tensor input must have at least 2 dimensions.")
    tolerances = [(atol, atol_bdim), (rtol, rtol_bdim)]
    ranks = [rank_without_batch_dim(one, bdim) for one, bdim in tolerances if one is not None]
    rank = max(rank_without_batch_dim(input, input_bdim) - 2, *ranks, 0)
    matrices = maybe_pad_to_logical_rank(move_batch_dim_to_front(input, input_bdim), input_bdim, rank + 2)
    moved = [(None if one is None else move_batch_dim_to_front(one, bdim), bdim) for one, bdim in tolerances]
    first, second = (None if one is None else maybe_pad_to_logical_rank(one, bdim, rank) for one, bdim in moved)
    return ops.linalg_pinv_atol_rtol_tensor.call(matrices, first, second, hermitian), 0


# -- operators of two matrices -----------------------------------------------------------------------------------------


def of_matrices(name: str, shown: str) -> BatchRule:
    """Return the rule of an operator of two matrices (``LINALG_CHECK_MATRIX_BINARY_BATCH_RULE``)."""

    def rule(first: Tensor, first_bdim: int | None, second: Tensor, second_bdim: int | None, *extra: Any) -> Any:
        _check_matrix(shown, "A", (first, first_bdim))
        _check_matrix(shown, "B", (second, second_bdim))
        pair = binary_pointwise_helper((first, first_bdim), (second, second_bdim), do_type_promotion=False)
        results = call_operator(find(f"aten::{name}"), (*pair, *extra))
        return _in_front(results if isinstance(results, tuple) else (results,))

    return rule


def cholesky_solve(self: Tensor, self_bdim: int | None, A: Tensor, A_bdim: int | None, upper: bool) -> Batched:
    """Solve. The ranks in the error texts count the batch dimension."""
    for name, tensor, bdim in (("b", self, self_bdim), ("u", A, A_bdim)):
        if rank_without_batch_dim(tensor, bdim) < 2:
            rank = len(tensor._size)
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {rank} dimensions instead")
    pair = binary_pointwise_helper((self, self_bdim), (A, A_bdim), do_type_promotion=False)
    return ops.cholesky_solve.call(*pair, upper), 0


def linalg_householder_product(input: Tensor, input_bdim: int | None, tau: Tensor, tau_bdim: int | None) -> Batched:
    """Give both tensors the batch dimension."""
    return ops.linalg_householder_product.call(*_both((input, input_bdim), (tau, tau_bdim))), 0


def _both(first: Batched, second: Batched) -> tuple[Tensor, Tensor]:
    moved = move_batch_dim_to_front(*first), move_batch_dim_to_front(*second)
    size = batch_size(first, second)
    a = ensure_has_bdim(moved[0], first[1] is not None, size)
    return a, ensure_has_bdim(moved[1], second[1] is not None, size)


def linalg_cross(self: Tensor, self_bdim: int | None, other: Tensor, other_bdim: int | None, dim: int) -> Batched:
    """Give both tensors the batch dimension. Raise RuntimeError if their ranks differ."""
    if rank_without_batch_dim(self, self_bdim) != rank_without_batch_dim(other, other_bdim):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    size = batch_size((self, self_bdim), (other, other_bdim))
    first, second = binary_pointwise_helper((self, self_bdim), (other, other_bdim), do_type_promotion=False)
    first = ensure_has_bdim(first, self_bdim is not None, size)
    second = ensure_has_bdim(second, other_bdim is not None, size)
    return ops.linalg_cross.call(first, second, physical_dim(first, True, dim)), 0


def _linalg_solve_ex(
    A: Tensor, A_bdim: int | None, B: Tensor, B_bdim: int | None, left: bool, check_errors: bool
) -> tuple[Any, ...]:
    """Give both tensors the batch dimension. A right-hand side of a rank lower by one is a vector."""
    size = batch_size((A, A_bdim), (B, B_bdim))
    ranks = rank_without_batch_dim(A, A_bdim), rank_without_batch_dim(B, B_bdim)
    _check_matrix("linalg.solve", "A", (A, A_bdim))
    vector = ranks[0] > ranks[1]
    if ranks[1] < (1 if vector else 2):
        raise RuntimeError("linalg.solve: The input tensor B must have at least 2 dimensions.")
    first, second = move_batch_dim_to_front(A, A_bdim), move_batch_dim_to_front(B, B_bdim)
    first = maybe_pad_to_logical_rank(first, A_bdim, max(ranks))
    second = maybe_pad_to_logical_rank(second, B_bdim, max(ranks) - vector)
    first = ensure_has_bdim(first, A_bdim is not None, size)
    second = ensure_has_bdim(second, B_bdim is not None, size)
    return _in_front(ops._linalg_solve_ex.call(first, second, left, check_errors))


def linalg_lstsq(
    self: Tensor, self_bdim: int | None, b: Tensor, b_bdim: int | None, rcond: float | None, driver: str | None
) -> tuple[Any, ...]:
    """Give both tensors the batch dimension, since a vector would not broadcast. Results that were not computed have
    none.
    """
    if rank_without_batch_dim(self, self_bdim) < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if rank_without_batch_dim(b, b_bdim) < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    size = batch_size((self, self_bdim), (b, b_bdim))
    first, second = binary_pointwise_helper((self, self_bdim), (b, b_bdim), do_type_promotion=False)
    first = ensure_has_bdim(first, self_bdim is not None, size)
    second = ensure_has_bdim(second, b_bdim is not None, size)
    solution, *others = ops.linalg_lstsq.call(first, second, rcond, driver)
    computed = [(other, 0 if numel(other._size) else None) for other in others]
    return solution, 0, *(part for pair in computed for part in pair)


# -- LU ----------------------------------------------------------------------------------------------------------------


def _same_batch(LU: Batched, pivots: Batched) -> tuple[Batched, Batched]:
    """Make the leading dimensions agree: if only one tensor is batched, the other is expanded."""
    moved = [(move_batch_dim_to_front(tensor, bdim), bdim) for tensor, bdim in (LU, pivots)]
    if (LU[1] is None) == (pivots[1] is None):
        return moved[0], moved[1]
    size = batch_size(LU, pivots)
    first, second = ((ensure_has_bdim(tensor, bdim is not None, size), 0) for tensor, bdim in moved)
    return first, second


def lu_unpack(
    LU: Tensor, LU_bdim: int | None, pivots: Tensor, pivots_bdim: int | None, unpack_data: bool, unpack_pivots: bool
) -> tuple[Any, ...]:
    """Return the three matrices."""
    (first, _), (second, _) = _same_batch((LU, LU_bdim), (pivots, pivots_bdim))
    return _in_front(ops.lu_unpack.call(first, second, unpack_data, unpack_pivots))


def linalg_lu_solve(
    LU: Tensor,
    LU_bdim: int | None,
    pivots: Tensor,
    pivots_bdim: int | None,
    B: Tensor,
    B_bdim: int | None,
    left: bool,
    adjoint: bool,
) -> Batched:
    """Solve. The right-hand side broadcasts with the rest."""
    _expect_at_least_rank((LU, LU_bdim), 2, "LU")
    _expect_at_least_rank((pivots, pivots_bdim), 1, "pivots")
    _expect_at_least_rank((B, B_bdim), 2, "B")
    factors, rows = _same_batch((LU, LU_bdim), (pivots, pivots_bdim))
    parts = ((factors, 2), (rows, 1), ((move_batch_dim_to_front(B, B_bdim), B_bdim), 2))
    dims = max(rank_without_batch_dim(*batched) - own for batched, own in parts)
    first, second, third = (maybe_pad_to_logical_rank(*batched, dims + own) for batched, own in parts)
    return ops.linalg_lu_solve.call(first, second, third, left, adjoint), 0


OF_MATRIX = {
    "cholesky_inverse": "cholesky_inverse",
    "linalg_cholesky_ex": "linalg.cholesky",
    "linalg_eig": "linalg.eig",
    "linalg_inv_ex": "linalg.inv_ex",
    "linalg_ldl_factor_ex": "torch.linalg.ldl_factor_ex",
    "linalg_qr": "linalg.qr",
    "linalg_slogdet": "linalg.slogdet",
    "geqrf": "geqrf",
    "_linalg_det": "linalg.det",
    "_linalg_eigh": "linalg.eigh",
    "_linalg_slogdet": "linalg.slogdet",
    "_linalg_svd": "linalg.svd",
}
"""Operators of one matrix, and their names in errors."""
OF_MATRICES = {"linalg_solve_triangular": "linalg.solve_triangular", "triangular_solve": "triangular_solve"}

KERNELS: dict[str, Kernel] = {
    **{name: plumbed(name, of_matrix(name, shown)) for name, shown in OF_MATRIX.items()},
    **{name: plumbed(name, of_matrices(name, shown)) for name, shown in OF_MATRICES.items()},
    "linalg_lu_factor_ex": plumbed("linalg_lu_factor_ex", linalg_lu_factor_ex),
    "_linalg_check_errors": _linalg_check_errors_plumbing,
    "linalg_pinv.atol_rtol_tensor": plumbed("linalg_pinv.atol_rtol_tensor", linalg_pinv),
    "cholesky_solve": plumbed("cholesky_solve", cholesky_solve),
    "linalg_matrix_exp": plumbed("linalg_matrix_exp", linalg_matrix_exp),
    "linalg_householder_product": plumbed("linalg_householder_product", linalg_householder_product),
    "linalg_lstsq": plumbed("linalg_lstsq", linalg_lstsq),
    "linalg_cross": plumbed("linalg_cross", linalg_cross),
    "_linalg_solve_ex": plumbed("_linalg_solve_ex", _linalg_solve_ex),
    "lu_unpack": plumbed("lu_unpack", lu_unpack),
    "linalg_lu_solve": plumbed("linalg_lu_solve", linalg_lu_solve),
}
"""Kernels for FuncTorchBatched."""
