"""Batch rules of ``embedding`` (``BatchRulesModules.cpp``).

If both are batched, the tables stand below one another, and the indices of example i get i * rows added.
"""

from __future__ import annotations

from dispatchviz.core.functorch.batch_rules_helper import (
    ensure_has_bdim,
    move_batch_dim_to_front,
    reshape_dim_into,
    reshape_dim_outof,
)
from dispatchviz.core.functorch.plumbing import Batched, Kernel, plumbed
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor import Tensor


def embedding(
    weight: Tensor,
    weight_bdim: int | None,
    indices: Tensor,
    indices_bdim: int | None,
    padding_idx: int,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> Batched:
    """Three cases, by who is batched."""
    options = (padding_idx, scale_grad_by_freq, sparse)
    if weight_bdim is None:
        return ops.embedding.call(weight, indices, *options), indices_bdim
    size = weight._size[weight_bdim]
    if indices_bdim is None:
        result = ops.embedding.call(reshape_dim_into(weight_bdim, 1, weight), indices, *options)
        result = reshape_dim_outof(-1, size, result)
        return result, len(result._size) - 2
    rows = weight._size[1 if weight_bdim == 0 else 0]
    table, places = reshape_dim_into(weight_bdim, 0, weight), move_batch_dim_to_front(indices, indices_bdim)
    places = ops.add_Tensor.call(places, _steps(indices, size, rows), 1)
    return ops.embedding.call(table, places, *options), 0


def _steps(indices: Tensor, size: int, rows: int) -> Tensor:
    """``getStepTensor``: [0, rows, 2 * rows, ...], along the first dimension."""
    steps = ops.arange_start_step.call(0, size * rows, rows, indices._dtype, "strided", indices._device, None)
    return ops.view.call(steps, (size, *[1] * (len(indices._size) - 1)))


def embedding_dense_backward(
    grad_output: Tensor,
    grad_bdim: int | None,
    indices: Tensor,
    indices_bdim: int | None,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> Batched:
    """The padding of several tables is filled with zeros afterwards."""
    if indices_bdim is None:
        assert grad_bdim is not None
        size = grad_output._size[grad_bdim]
        grad = reshape_dim_into(grad_bdim, -1, grad_output)
        result = ops.embedding_dense_backward.call(grad, indices, num_weights, padding_idx, scale_grad_by_freq)
        return reshape_dim_outof(1, size, result), 1
    size = indices._size[indices_bdim]
    places, grad = move_batch_dim_to_front(indices, indices_bdim), move_batch_dim_to_front(grad_output, grad_bdim)
    grad = ensure_has_bdim(grad, grad_bdim is not None, size)
    places = ops.add_Tensor.call(places, _steps(places, size, num_weights), 1)
    result = ops.embedding_dense_backward.call(grad, places, num_weights * size, -1, scale_grad_by_freq)
    result = reshape_dim_outof(0, size, result)
    if padding_idx >= 0:
        ops.fill__Scalar.call(ops.select_int.call(result, 1, padding_idx), 0)
    return result, 0


KERNELS: dict[str, Kernel] = {
    "embedding": plumbed("embedding", embedding),
    "embedding_dense_backward": plumbed("embedding_dense_backward", embedding_dense_backward),
}
"""Under FuncTorchBatched."""
