"""Composites that transforms replace, since the usual ones write in place (``PyTorchOperatorHacks.cpp``).

They are registered for FuncTorchDynamicLayerFrontMode, so every transform runs them before its own layer gets the call.
"""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.dynamic_layer import layers
from dispatchviz.core.layers.functorch.interpreter import VmapInterpreter
from dispatchviz.core.layers.functorch.plumbing import Kernel
from dispatchviz.core.native.activation.dropout import channels_size, dropout_impl
from dispatchviz.core.native.losses.elementwise_losses import apply_loss_reduction, one_minus
from dispatchviz.core.tensor.dtype import int64
from dispatchviz.core.tensor.tensor import Size, Tensor, numel


def index_select_backward_hack(ks: int, grad: Tensor, self_sizes: Size, dim: int, index: Tensor) -> Tensor:
    """Compute the gradient out of place."""
    zeros = ops.zeros.call(self_sizes, grad._dtype, "strided", grad._device, None)
    return ops.index_add.call(zeros, dim, index, grad, 1)


def linear_hack(ks: int, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Compute ``linear``. The bias is added in place only if no layer belongs to a vmap."""
    rank = len(input._size)
    if bias is not None and rank == 2:
        return ops.addmm.call(bias, input, ops.t.call(weight), 1, 1)
    if bias is not None and rank == 3 and input._is_contiguous:
        size = input._size
        rows = ops.view.call(input, (size[0] * size[1], size[2]))
        result = ops.addmm.call(bias, rows, ops.t.call(weight), 1, 1)
        return ops.view.call(result, (size[0], size[1], result._size[1]))
    output = ops.matmul.call(input, ops.t.call(weight))
    if bias is None:
        return output
    if any(isinstance(layer.interpreter, VmapInterpreter) for layer in layers()):
        return ops.add_Tensor.call(output, bias, 1)
    return ops.add__Tensor.call(output, bias, 1)


def binary_cross_entropy_with_logits_hack(
    ks: int, input: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: int
) -> Tensor:
    """Compute the loss. Numbers that may be batched are combined in new tensors; only tensors made here are written in
    place.
    """
    top = ops.clamp_min.call(ops.neg.call(input), 0)
    if pos_weight is not None:
        log_weight = ops.mul_Tensor.call(ops.sub_Scalar.call(pos_weight, 1, 1), target)
        log_weight = ops.add__Scalar.call(log_weight, 1, 1)
        loss = ops.mul_Tensor.call(one_minus(target), input)
        log = ops.add__Tensor.call(_log_of_powers(input, top), top, 1)
        loss = ops.add_Tensor.call(loss, ops.mul_Tensor.call(log_weight, log), 1)
    else:
        loss = ops.add__Tensor.call(ops.mul_Tensor.call(one_minus(target), input), top, 1)
        loss = ops.add__Tensor.call(loss, _log_of_powers(input, top), 1)
    if weight is not None:
        loss = ops.mul_Tensor.call(loss, weight)
    return apply_loss_reduction(loss, reduction)


def _log_of_powers(input: Tensor, top: Tensor) -> Tensor:
    """The logarithm of exp(-top) + exp(-input - top)."""
    first = ops.exp_.call(ops.neg.call(top))
    second = ops.exp_.call(ops.sub_Tensor.call(ops.neg.call(input), top, 1))
    return ops.log_.call(ops.add_Tensor.call(first, second, 1))


def trace_backward_decomp(ks: int, grad: Tensor, sizes: Size) -> Tensor:
    """Compute the gradient out of place, at the indices of the diagonal. Raise RuntimeError unless the argument is a
    matrix.
    """
    if len(sizes) != 2:
        raise RuntimeError("expected matrix input")
    count = sizes[0] * sizes[1]
    zeros = ops.zeros.call((count,), grad._dtype, "strided", grad._device, None)
    indices = ops.arange_start_step.call(0, count, sizes[1] + 1, int64, "strided", grad._device, None)
    return ops.view.call(ops.index_put.call(zeros, [indices], grad, False), sizes)


def _noise(input: Tensor, p: float, feature: bool) -> Tensor:
    """Return the noise. It is not an ``empty_like``, so that vmap may draw the same for all examples."""
    options = (input._dtype, "strided", input._device, None, None)
    if feature:
        empty = ops.empty_memory_format.call(channels_size(input), *options)
    else:
        empty = ops.expand.call(ops.empty_memory_format.call((), *options), input._size, False)
    return ops.bernoulli_p.call(empty, 1 - p, None)


def dropout_hack(ks: int, input: Tensor, p: float, train: bool) -> Tensor:
    """Apply dropout, fused on CUDA."""
    if train and input._device.type == "cuda" and 0 < p < 1 and numel(input._size):
        return ops.native_dropout.call(input, p, train)[0]
    return dropout_impl(input, p, train, noise_like=_noise)


def _dropout_hack(feature: bool, alpha: bool, inplace: bool) -> Kernel:
    def kernel(ks: int, input: Tensor, p: float, train: bool) -> Tensor:
        return dropout_impl(input, p, train, feature, alpha, inplace, _noise)

    return kernel


KERNELS: dict[str, Kernel] = {
    "index_select_backward": index_select_backward_hack,
    "linear": linear_hack,
    "binary_cross_entropy_with_logits": binary_cross_entropy_with_logits_hack,
    "trace_backward": trace_backward_decomp,
    "dropout": dropout_hack,
    "dropout_": _dropout_hack(feature=False, alpha=False, inplace=True),
    "feature_dropout": _dropout_hack(feature=True, alpha=False, inplace=False),
    "feature_dropout_": _dropout_hack(feature=True, alpha=False, inplace=True),
    "alpha_dropout": _dropout_hack(feature=False, alpha=True, inplace=False),
    "alpha_dropout_": _dropout_hack(feature=False, alpha=True, inplace=True),
    "feature_alpha_dropout": _dropout_hack(feature=True, alpha=True, inplace=False),
    "feature_alpha_dropout_": _dropout_hack(feature=True, alpha=True, inplace=True),
}
"""Kernels for FuncTorchDynamicLayerFrontMode."""
