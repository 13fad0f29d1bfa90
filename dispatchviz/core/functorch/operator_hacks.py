"""Composites that transforms replace (``PyTorchOperatorHacks.cpp``): the usual ones write in place.

They stand under FuncTorchDynamicLayerFrontMode, so every transform runs them, before its own layer is asked.
"""

from __future__ import annotations

from dispatchviz.core.functorch.dynamic_layer import layers
from dispatchviz.core.functorch.interpreter import VmapInterpreter
from dispatchviz.core.functorch.plumbing import Kernel
from dispatchviz.core.generated import operators as ops
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


def dropout_hack(ks: int, input: Tensor, p: float, train: bool) -> Tensor:
    """The noise is no ``empty_like``, so that vmap may draw the same for all examples."""
    if train and input._device.type == "cuda" and 0 < p < 1 and numel(input._size):
        return ops.native_dropout.call(input, p, train)[0]
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    if p == 0 or not train or not numel(input._size):
        return input
    if p == 1:
        return ops.mul_Tensor.call(input, ops.zeros.call((), input._dtype, "strided", input._device, None))
    empty = ops.empty_memory_format.call((), input._dtype, "strided", input._device, None, None)
    noise = ops.bernoulli_p.call(ops.expand.call(empty, input._size, False), 1 - p, None)
    ops.div__Scalar.call(noise, 1 - p)
    return ops.mul_Tensor.call(input, noise)


KERNELS: dict[str, Kernel] = {
    "index_select_backward": index_select_backward_hack,
    "linear": linear_hack,
    "dropout": dropout_hack,
}
"""Under FuncTorchDynamicLayerFrontMode."""
