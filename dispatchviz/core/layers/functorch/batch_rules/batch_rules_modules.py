"""Batch rules of ``embedding``, padding, upsampling, ``grid_sampler``, ``pixel_shuffle``
(``BatchRulesModules.cpp``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.aten import find
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    batch_size,
    ensure_has_bdim,
    move_batch_dim_to_front,
    reshape_dim_into,
    reshape_dim_outof,
)
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_unary import existing_bdim, variadic_bdims
from dispatchviz.core.layers.functorch.batch_rules.boxed_rules import existing_bdim_all
from dispatchviz.core.layers.functorch.plumbing import Batched, BatchRule, Kernel, call_operator, plumbed
from dispatchviz.core.tensor.dtype import int64
from dispatchviz.core.tensor.tensor import Size, Tensor

# -- embedding ---------------------------------------------------------------------------------------------------------


def embedding(
    weight: Tensor,
    weight_bdim: int | None,
    indices: Tensor,
    indices_bdim: int | None,
    padding_idx: int,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> Batched:
    """Look up embeddings. If both are batched, the tables are joined into one, and the indices of example i are
    increased by i * rows.
    """
    options = (padding_idx, scale_grad_by_freq, sparse)
    if weight_bdim is None:
        return ops.embedding.call(weight, indices, *options), indices_bdim
    size = weight._size[weight_bdim]
    if indices_bdim is None:
        result = ops.embedding.call(reshape_dim_into(weight_bdim, 1, weight), indices, *options)
        result = reshape_dim_outof(-1, size, result)
        return result, len(result._size) - 2
    rows = weight._size[1 if weight_bdim == 0 else 0]
    table, positions = reshape_dim_into(weight_bdim, 0, weight), move_batch_dim_to_front(indices, indices_bdim)
    positions = ops.add_Tensor.call(positions, _steps(indices, size, rows), 1)
    return ops.embedding.call(table, positions, *options), 0


def _steps(indices: Tensor, size: int, rows: int) -> Tensor:
    """The tensor [0, rows, 2 * rows, ...] along the first dimension (``getStepTensor``)."""
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
    """Return the gradient of the tables. The padding of several tables is filled with zeros afterwards."""
    if indices_bdim is None:
        assert grad_bdim is not None
        size = grad_output._size[grad_bdim]
        grad = reshape_dim_into(grad_bdim, -1, grad_output)
        result = ops.embedding_dense_backward.call(grad, indices, num_weights, padding_idx, scale_grad_by_freq)
        return reshape_dim_outof(1, size, result), 1
    size = indices._size[indices_bdim]
    positions, grad = move_batch_dim_to_front(indices, indices_bdim), move_batch_dim_to_front(grad_output, grad_bdim)
    grad = ensure_has_bdim(grad, grad_bdim is not None, size)
    positions = ops.add_Tensor.call(positions, _steps(positions, size, num_weights), 1)
    result = ops.embedding_dense_backward.call(grad, positions, num_weights * size, -1, scale_grad_by_freq)
    result = reshape_dim_outof(0, size, result)
    if padding_idx >= 0:
        ops.fill__Scalar.call(ops.select_int.call(result, 1, padding_idx), 0)
    return result, 0


# -- others ------------------------------------------------------------------------------------------------------------


def one_hot_decomposition(ks: int, self: Tensor, num_classes: int) -> Tensor:
    """Compare with every class. Raise RuntimeError without the number of classes, which would depend on the values."""
    if self._dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor.")
    if num_classes <= 0:
        raise RuntimeError(
            "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument."
        )
    classes = ops.arange.call(num_classes, self._dtype, "strided", self._device, None)
    equal = ops.eq_Tensor.call(ops.unsqueeze.call(self, -1), classes)
    return ops.to_dtype.call(equal, int64, False, False, None)


def upsample_backward(name: str) -> BatchRule:
    """Return the rule of a backward: the batch becomes more examples, also in ``input_size``
    (``UpsampleBackwardBatchRuleHelper``).
    """

    def rule(grad_output: Tensor, bdim: int, output_size: Size, input_size: Size, *how: Any) -> Batched:
        grad = reshape_dim_into(bdim, 0, grad_output)
        size = (grad._size[0], *input_size[1:])
        result = call_operator(find(f"aten::{name}"), (grad, output_size, size, *how))
        return reshape_dim_outof(0, grad_output._size[bdim], result), 0

    return rule


# -- sampling ----------------------------------------------------------------------------------------------------------


def grid_sample(input: Tensor, input_bdim: int | None, grid: Tensor, grid_bdim: int | None, *how: Any) -> Batched:
    """Sample, with the batch as more channels, more rows of the grid or, if both are batched, a bigger batch
    (``GridSampleBatchRuleHelper``).

    A bigger batch is split by the size of input's dimension with the index of grid's batch dimension, as in PyTorch.
    """
    if grid_bdim is None:
        assert input_bdim is not None
        channels = reshape_dim_into(input_bdim, 1, input)
        result = ops.grid_sampler.call(channels, grid, *how)
        return reshape_dim_outof(1, input._size[input_bdim], result), 1
    if input_bdim is None:
        rows = reshape_dim_into(grid_bdim, 1, grid)
        result = ops.grid_sampler.call(input, rows, *how)
        return reshape_dim_outof(2, grid._size[grid_bdim], result), 2
    images = reshape_dim_into(input_bdim, 0, input)
    result = ops.grid_sampler.call(images, reshape_dim_into(grid_bdim, 0, grid), *how)
    return reshape_dim_outof(0, input._size[grid_bdim], result), 0


def grid_sample_backward(name: str) -> BatchRule:
    """Return the rule of a backward, in which all three tensors get a bigger batch
    (``GridSampleBackwardBatchRuleHelper``).
    """

    def rule(
        grad_output: Tensor, grad_bdim: int | None, input: Tensor, input_bdim: int | None, *more: Any
    ) -> tuple[Any, ...]:
        grid, grid_bdim, *how = more
        given = ((grad_output, grad_bdim), (input, input_bdim), (grid, grid_bdim))
        size = batch_size(*given)
        whole = []
        for tensor, bdim in given:
            tensor = ensure_has_bdim(move_batch_dim_to_front(tensor, bdim), bdim is not None, size)
            whole.append(reshape_dim_into(0, 0, tensor))
        results = call_operator(find(f"aten::{name}"), (*whole, *how))
        pairs = ((None, None) if one is None else (reshape_dim_outof(0, size, one), 0) for one in results)
        return tuple(part for pair in pairs for part in pair)

    return rule


SAMPLERS = ("grid_sampler_2d", "grid_sampler_3d")
UPSAMPLE = (
    *("upsample_bicubic2d", "upsample_bilinear2d", "upsample_linear1d", "upsample_trilinear3d"),
    *("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"),
    *("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"),
)
PAD = tuple(f"{how}_pad{count}d" for how in ("reflection", "replication") for count in (1, 2, 3))
EXISTING_BDIM = (*PAD, *UPSAMPLE, "im2col", "col2im", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle")

KERNELS: dict[str, Kernel] = {
    "embedding": plumbed("embedding", embedding),
    "embedding_dense_backward": plumbed("embedding_dense_backward", embedding_dense_backward),
    "constant_pad_nd": plumbed("constant_pad_nd", variadic_bdims("constant_pad_nd")),
    **{name: plumbed(name, existing_bdim(name)) for name in EXISTING_BDIM},
    **{f"{name}_backward": plumbed(f"{name}_backward", upsample_backward(f"{name}_backward")) for name in UPSAMPLE},
    **{name: plumbed(name, grid_sample) for name in SAMPLERS},
    **{f"{name}_backward": plumbed(f"{name}_backward", grid_sample_backward(f"{name}_backward")) for name in SAMPLERS},
    "one_hot": one_hot_decomposition,
}
"""Kernels for FuncTorchBatched."""
BOXED = {f"{name}_backward": existing_bdim_all for name in PAD}
"""Boxed kernels for FuncTorchBatched."""
