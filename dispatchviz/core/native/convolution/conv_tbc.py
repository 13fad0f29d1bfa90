"""``conv_tbc``: convolution over (time, batch, channels) (``aten/src/ATen/native/ConvolutionTBC.cpp``).

Each kernel element is one matrix product over the time steps in which it meets the input.
"""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Tensor


def conv_tbc(self: Tensor, weight: Tensor, bias: Tensor, pad: int) -> Tensor:
    """A convolution with a weight of (width, input channels, output channels).

    Raise RuntimeError for shapes that do not fit.
    """
    _check(self, weight, bias)
    size = (self._size[0] - weight._size[0] + 1 + pad * 2, self._size[1], weight._size[2])
    output = ops.empty_memory_format.call(size, self._dtype, "strided", self._device, None, None)
    ops.copy_.call(output, ops.expand.call(bias, size, False), False)
    for k, into, out_of, time in _stretches(self, weight, pad):
        matrix = ops.select_int.call(weight, 0, k)
        rows = _rows(self, into, time)
        ops.addmm_.call(_rows(output, out_of, time), rows, matrix, 1, 1)
    return output


def _check(self: Tensor, weight: Tensor, bias: Tensor) -> None:
    if len(self._size) != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if len(weight._size) != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if len(bias._size) != 1:
        raise RuntimeError("Bias must be 1-D")
    if self._size[2] != weight._size[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight._size[2] != bias._size[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")


def _stretches(self: Tensor, weight: Tensor, pad: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield each kernel element with its start in the input, its start in the output, and the number of time steps."""
    length, width = self._size[0], weight._size[0]
    longer = length - width + 1 + pad * 2
    real_pad = int((longer - length + width - 1) / 2)
    for k in range(width):
        into, out_of = max(0, k - real_pad), max(0, real_pad - k)
        time = min(length + real_pad - k, longer) - out_of
        if time > 0:
            yield k, into, out_of, time


def _rows(tensor: Tensor, start: int, time: int) -> Tensor:
    """The time steps of a range as one matrix."""
    part = ops.narrow.call(tensor, 0, start, time)
    return ops.view.call(part, (time * tensor._size[1], tensor._size[2]))


def conv_tbc_backward(
    self: Tensor, input: Tensor, weight: Tensor, bias: Tensor, pad: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of input, weight and bias; self is the gradient of the output."""
    stretches = list(_stretches(input, weight, pad))
    grad_input = _zeros_like(input)
    for k, into, out_of, time in stretches:
        rows = _rows(self, out_of, time)
        target = _rows(grad_input, into, time)
        ops.addmm_.call(target, rows, ops.t.call(ops.select_int.call(weight, 0, k)), 1, 1)
    grad_weight = _zeros_like(weight)
    for k, into, out_of, time in stretches:
        target = ops.select_int.call(grad_weight, 0, k)
        rows = _rows(self, out_of, time)
        ops.addmm_.call(target, ops.t.call(_rows(input, into, time)), rows, 1, 1)
    grad_bias = _zeros_like(bias)
    by_example = ops.sum_dim_IntList.call(self, (0,), False, None)
    ops.copy_.call(grad_bias, ops.sum_dim_IntList.call(by_example, (0,), False, None), False)
    return grad_input, grad_weight, grad_bias


def _zeros_like(tensor: Tensor) -> Tensor:
    return ops.zeros_like.call(tensor, None, None, None, None, "contiguous_format")
