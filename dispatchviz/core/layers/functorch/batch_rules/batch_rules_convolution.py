"""Batch rules of convolution (``BatchRulesConvolution.cpp``): the batch becomes examples, channels or groups.

In comments, N are examples, I and O channels of input and output, G groups, B the batch; (BO) is one dimension.
"""

from __future__ import annotations

from typing import NamedTuple

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    maybe_pad_to_logical_rank,
    move_batch_dim_to_front,
    rank_without_batch_dim,
    reshape_dim_into,
    reshape_dim_outof,
)
from dispatchviz.core.layers.functorch.batched_tensor import is_batched_at_level, make_batched, unwrap_at_level
from dispatchviz.core.layers.functorch.dynamic_layer import current_layer
from dispatchviz.core.layers.functorch.plumbing import Batched, Kernel, exclude_batched, plumbed
from dispatchviz.core.tensor.tensor import Size, Tensor


class ConvOptions(NamedTuple):
    """A convolution's parameters besides its tensors."""

    stride: Size
    padding: Size
    dilation: Size
    transposed: bool
    output_padding: Size
    groups: int

    def times(self, size: int) -> ConvOptions:
        """Return options with the number of groups multiplied by ``size``."""
        return self._replace(groups=self.groups * size)


# -- forward -----------------------------------------------------------------------------------------------------------


def convolution(
    input: Tensor,
    input_bdim: int | None,
    weight: Tensor,
    weight_bdim: int | None,
    bias: Tensor | None,
    bias_bdim: int | None,
    *options: object,
) -> Batched:
    """Convolve. A bias is added afterwards if it or the weight is batched."""
    conv_options = ConvOptions(*options)  # type: ignore[arg-type]
    separate = bias is not None and (weight_bdim is not None or bias_bdim is not None)
    result = _convolution((input, input_bdim), (weight, weight_bdim), None if separate else bias, conv_options)
    if not separate or bias is None:
        return result
    first, second = move_batch_dim_to_front(*result), move_batch_dim_to_front(bias, bias_bdim)
    for _ in conv_options.stride:
        second = ops.unsqueeze.call(second, -1)
    second = maybe_pad_to_logical_rank(second, bias_bdim, rank_without_batch_dim(*result))
    return ops.add_Tensor.call(first, second, 1), 0


def _convolution(input: Batched, weight: Batched, bias: Tensor | None, options: ConvOptions) -> Batched:
    (x, x_bdim), (w, w_bdim) = input, weight
    if w_bdim is None:
        if x_bdim is None:
            return ops.convolution.call(x, w, bias, *options), None
        out = ops.convolution.call(reshape_dim_into(x_bdim, 0, x), w, bias, *options)
        return reshape_dim_outof(0, x._size[x_bdim], out), 0
    size = w._size[w_bdim]
    if x_bdim is not None:
        channels = reshape_dim_into(x_bdim, 1, x)
        kernels = reshape_dim_into(w_bdim, 0, w)
        return reshape_dim_outof(1, size, ops.convolution.call(channels, kernels, bias, *options.times(size))), 1
    if options.groups == 1:
        kernels = reshape_dim_into(w_bdim, 1 if options.transposed else 0, w)
        return reshape_dim_outof(1, size, ops.convolution.call(x, kernels, bias, *options)), 1
    kernels = reshape_dim_into(w_bdim, 1, w) if options.transposed else _grouped_kernels(w, w_bdim, options.groups)
    out = reshape_dim_outof(1, options.groups, ops.convolution.call(x, kernels, bias, *options))  # N(GBO) -> NG(BO)
    return reshape_dim_into(1, 2, reshape_dim_outof(2, size, out)), 1  # NGBO -> NB(GO)


def _grouped_kernels(weight: Tensor, bdim: int, groups: int) -> Tensor:
    """Reshape a weight: B(GO)I -> BGOI -> G(BO)I -> (GBO)I."""
    split = reshape_dim_outof(1 if bdim == 0 else 0, groups, weight)
    return reshape_dim_into(0, 0, reshape_dim_into(bdim + (bdim > 0), 1, split))


# -- backward ----------------------------------------------------------------------------------------------------------


def convolution_backward_plumbing(
    ks: int,
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: Size | None,
    stride: Size,
    padding: Size,
    dilation: Size,
    transposed: bool,
    output_padding: Size,
    groups: int,
    output_mask: tuple[bool, ...],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Compute the gradients: by one call if all tensors are batched, otherwise by one for each gradient. That of the
    bias is a sum.
    """
    options = ConvOptions(stride, padding, dilation, transposed, output_padding, groups)
    level = current_layer().level
    tensors = (grad_output, input, weight)
    if not any(is_batched_at_level(tensor, level) for tensor in tensors):
        with exclude_batched():
            return ops.convolution_backward.call(grad_output, input, weight, bias_sizes, *options, output_mask)
    grad, x, w = (unwrap_at_level(tensor, level) for tensor in tensors)
    grad_bias = None
    if output_mask[2]:
        dims = (0, *range(2, len(grad_output._size)))
        grad_bias = ops.sum_dim_IntList.call(grad_output, dims, False, None)
    if grad[1] is not None and x[1] is not None and w[1] is not None:
        with exclude_batched():
            return (*_all_batched(grad, x, w, options, output_mask, level), grad_bias)
    results: list[Tensor | None] = [None, None]
    for index, rule in enumerate((_input_gradient, _weight_gradient)):
        if output_mask[index]:
            with exclude_batched():
                results[index] = make_batched(*rule(grad, x, w, options), level)
    return results[0], results[1], grad_bias


def _all_batched(
    grad: Batched, x: Batched, w: Batched, options: ConvOptions, output_mask: tuple[bool, ...], level: int
) -> tuple[Tensor | None, Tensor | None]:
    """Compute both gradients at once: BNO, BNI, BOI -> N(BO), N(BI), (BO)I."""
    assert grad[1] is not None
    assert x[1] is not None
    assert w[1] is not None
    channels = reshape_dim_into(grad[1], 1, grad[0])
    size = w[0]._size[w[1]]
    inputs, kernels = reshape_dim_into(x[1], 1, x[0]), reshape_dim_into(w[1], 0, w[0])
    mask = (*output_mask[:2], False)
    found = ops.convolution_backward.call(channels, inputs, kernels, None, *options.times(size), mask)
    first = make_batched(reshape_dim_outof(1, size, found[0]), 1, level) if output_mask[0] else None
    return first, make_batched(reshape_dim_outof(0, size, found[1]), 0, level) if output_mask[1] else None


def _dummy(tensor: Tensor, bdim: int | None, dim: int, size: int) -> Tensor:
    """Return a placeholder with the shape of an example, with ``dim`` multiplied by ``size`` (``make_dummy``)."""
    one = tensor if bdim is None else ops.select_int.call(tensor, bdim, 0)
    length = one._size[dim]
    one = ops.slice_Tensor.call(one, dim, 0, 1, 1)
    shape = tuple(size * length if index == dim else extent for index, extent in enumerate(one._size))
    return ops.expand.call(ops.new_empty.call(one, (), None, None, None, None), shape, False)


def _for_input(grad: Tensor, dummy: Tensor, weight: Tensor, options: ConvOptions) -> Tensor:
    return ops.convolution_backward.call(grad, dummy, weight, None, *options, (True, False, False))[0]


def _for_weight(grad: Tensor, input: Tensor, dummy: Tensor, options: ConvOptions) -> Tensor:
    return ops.convolution_backward.call(grad, input, dummy, None, *options, (False, True, False))[1]


def _input_gradient(grad: Batched, x: Batched, w: Batched, options: ConvOptions) -> Batched:
    """Return the gradient of the input (``convolution_backward_input_batch_rule``)."""
    (g, g_bdim), (weight, w_bdim) = grad, w
    if w_bdim is None:
        if g_bdim is None:
            return _for_input(g, _dummy(*x, 0, 1), weight, options), None
        size = g._size[g_bdim]
        moved = reshape_dim_into(g_bdim, 0, g)
        return reshape_dim_outof(0, size, _for_input(moved, _dummy(*x, 0, size), weight, options)), 0
    size = weight._size[w_bdim]
    if g_bdim is not None:
        moved, kernels = reshape_dim_into(g_bdim, 1, g), reshape_dim_into(w_bdim, 0, weight)
        return reshape_dim_outof(1, size, _for_input(moved, _dummy(*x, 1, size), kernels, options.times(size))), 1
    if options.groups == 1:
        kernels = reshape_dim_into(w_bdim, 0 if options.transposed else 1, weight)
        return reshape_dim_outof(1, size, _for_input(g, _dummy(*x, 1, size), kernels, options)), 1
    if options.transposed:
        kernels = reshape_dim_outof(1, options.groups, move_batch_dim_to_front(weight, w_bdim))
        kernels = ops.flatten_using_ints.call(ops.transpose_int.call(kernels, 0, 1), 0, 2)  # (GBI)O
    else:
        kernels = reshape_dim_into(w_bdim, 1, weight)
    found = reshape_dim_outof(1, options.groups, _for_input(g, _dummy(*x, 1, size), kernels, options))  # NG(BI)
    found = ops.transpose_int.call(reshape_dim_outof(2, size, found), 1, 2)  # NBGI
    return reshape_dim_into(2, 2, found), 1


def _weight_gradient(grad: Batched, x: Batched, w: Batched, options: ConvOptions) -> Batched:
    """Return the gradient of the weight (``convolution_backward_weight_batch_rule``)."""
    (g, g_bdim), (inputs, x_bdim) = grad, x
    if g_bdim is not None and x_bdim is not None:
        size = inputs._size[x_bdim]
        moved, channels = reshape_dim_into(g_bdim, 1, g), reshape_dim_into(x_bdim, 1, inputs)
        return reshape_dim_outof(0, size, _for_weight(moved, channels, _dummy(*w, 0, size), options.times(size))), 0
    if g_bdim is None and x_bdim is None:
        return _for_weight(g, inputs, _dummy(*w, 0, 1), options), None
    batched = grad if x_bdim is None else x
    assert batched[1] is not None
    size = batched[0]._size[batched[1]]
    # the weight's dimension of the batched tensor's channels: those of the output, or those of the input
    side = 0 if (x_bdim is None) is not options.transposed else 1
    moved = (
        reshape_dim_into(batched[1], 1, batched[0]) if options.groups == 1 else _groups_first(batched, options.groups)
    )
    pair = (moved, inputs) if x_bdim is None else (g, moved)
    found = _for_weight(*pair, _dummy(*w, side, size), options)
    if options.groups == 1 or side == 1:
        return reshape_dim_outof(side, size, found), side
    # NB: in PyTorch, the operator unflatten.int is called, which does the same
    split = ops.reshape.call(found, (options.groups, size, found._size[0] // options.groups // size, *found._size[1:]))
    return ops.flatten_using_ints.call(ops.transpose_int.call(split, 0, 1), 1, 2), 0


def _groups_first(batched: Batched, groups: int) -> Tensor:
    """Reshape a tensor: BN(GO) -> BNGO -> NGBO -> N(GBO)."""
    split = reshape_dim_outof(2, groups, move_batch_dim_to_front(*batched))
    return ops.flatten_using_ints.call(ops.movedim_int.call(split, 0, 2), 1, 3)


KERNELS: dict[str, Kernel] = {
    "convolution": plumbed("convolution", convolution),
    "convolution_backward": convolution_backward_plumbing,
}
"""Kernels for FuncTorchBatched."""
