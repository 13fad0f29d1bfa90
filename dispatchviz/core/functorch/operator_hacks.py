"""Composites that transforms replace (``PyTorchOperatorHacks.cpp``): the usual ones write in place.

They stand under FuncTorchDynamicLayerFrontMode, so every transform runs them, before its own layer is asked.
"""

from __future__ import annotations

from dispatchviz.core.functorch.dynamic_layer import layers
from dispatchviz.core.functorch.interpreter import VmapInterpreter
from dispatchviz.core.functorch.plumbing import Kernel
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.dropout import channels_size, dropped
from dispatchviz.core.tensor import Size, Tensor, numel


def index_select_backward_hack(ks: int, grad: Tensor, self_sizes: Size, dim: int, index: Tensor) -> Tensor:
    """Out of place."""
    zeros = ops.zeros.call(self_sizes, grad._dtype, "strided", grad._device, None)
    return ops.index_add.call(zeros, dim, index, grad, 1)


def linear_hack(ks: int, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The bias is added in place only if no layer is a vmap's."""
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


def _noise(input: Tensor, p: float, feature: bool) -> Tensor:
    """The noise is no ``empty_like``, so that vmap may draw the same for all examples."""
    options = (input._dtype, "strided", input._device, None, None)
    if feature:
        empty = ops.empty_memory_format.call(channels_size(input), *options)
    else:
        empty = ops.expand.call(ops.empty_memory_format.call((), *options), input._size, False)
    return ops.bernoulli_p.call(empty, 1 - p, None)


def dropout_hack(ks: int, input: Tensor, p: float, train: bool) -> Tensor:
    """Fused on CUDA."""
    if train and input._device.type == "cuda" and 0 < p < 1 and numel(input._size):
        return ops.native_dropout.call(input, p, train)[0]
    return dropped(input, p, train, noise_like=_noise)


def _dropout_hack(feature: bool, alpha: bool, inplace: bool) -> Kernel:
    def kernel(ks: int, input: Tensor, p: float, train: bool) -> Tensor:
        return dropped(input, p, train, feature, alpha, inplace, _noise)

    return kernel


KERNELS: dict[str, Kernel] = {
    "index_select_backward": index_select_backward_hack,
    "linear": linear_hack,
    "dropout": dropout_hack,
    "dropout_": _dropout_hack(feature=False, alpha=False, inplace=True),
    "feature_dropout": _dropout_hack(feature=True, alpha=False, inplace=False),
    "feature_dropout_": _dropout_hack(feature=True, alpha=False, inplace=True),
    "alpha_dropout": _dropout_hack(feature=False, alpha=True, inplace=False),
    "alpha_dropout_": _dropout_hack(feature=False, alpha=True, inplace=True),
    "feature_alpha_dropout": _dropout_hack(feature=True, alpha=True, inplace=False),
    "feature_alpha_dropout_": _dropout_hack(feature=True, alpha=True, inplace=True),
}
"""Under FuncTorchDynamicLayerFrontMode."""
