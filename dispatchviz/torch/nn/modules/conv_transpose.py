"""``ConvTranspose1d`` to ``3d`` (``torch/nn/modules/conv.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch.nn import functional as F
from dispatchviz.torch.nn._ntuple import ntuple
from dispatchviz.torch.nn.modules.conv import ConvNd


class _ConvTranspose(ConvNd):
    """A transposed convolution: the gradient of a convolution as a layer."""

    _dimensions: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        sizes = (kernel_size, stride, padding, dilation, output_padding)
        kernel, step, around, dilations, extra = (ntuple(size, self._dimensions) for size in sizes)
        rest = (groups, bias, padding_mode, device, dtype)
        super().__init__(in_channels, out_channels, kernel, step, around, dilations, True, extra, *rest)

    def forward(self, input: Any, output_size: Any = None) -> Any:
        """Run the layer. ``output_size`` chooses among the sizes that this input may have come from; raise ValueError
        for any other.
        """
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for {type(self).__name__}")
        convolve = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self._dimensions - 1]
        extra = self.output_padding if output_size is None else self._output_padding(input, output_size)
        return convolve(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)

    def _output_padding(self, input: Any, output_size: Any) -> list[int]:
        count = self._dimensions
        leading = 2 if input.dim() == count + 2 else 1
        if len(output_size) == leading + count:
            output_size = output_size[leading:]
        if len(output_size) != count:
            raise ValueError(
                f"ConvTranspose{count}D: for {input.dim()}D input, output_size must have {count} or {leading + count} "
                f"elements (got {len(output_size)})"
            )
        least = [
            (input.size(d + leading) - 1) * self.stride[d]
            - 2 * self.padding[d]
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(count)
        ]
        most = [size + step - 1 for size, step in zip(least, self.stride, strict=True)]
        if any(not low <= size <= high for low, size, high in zip(least, output_size, most, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} to {most} (for an "
                f"input of {input.size()[2:]})"
            )
        return [size - low for size, low in zip(output_size, least, strict=True)]


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution over sequences (N, C, L)."""

    _dimensions = 1


class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution over images (N, C, H, W)."""

    _dimensions = 2


class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution over volumes (N, C, D, H, W)."""

    _dimensions = 3
