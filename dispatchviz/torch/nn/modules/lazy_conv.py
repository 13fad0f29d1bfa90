"""Lazy convolutions (``torch/nn/modules/conv.py``), whose in_channels is inferred from the first input."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn.modules.conv import Conv1d, Conv2d, Conv3d
from dispatchviz.torch.nn.modules.conv_transpose import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from dispatchviz.torch.nn.modules.lazy import LazyModuleMixin
from dispatchviz.torch.nn.parameter import UninitializedParameter


class _LazyConvXdMixin(LazyModuleMixin):
    groups: int
    transposed: bool
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]

    def _wait(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = torch.nn.UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = torch.nn.UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Reset the parameters as the convolution does, if they are initialized."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Any, *args: Any, **kwargs: Any) -> None:
        """Set the shapes from the input. Raise ValueError if the groups do not divide the channels."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        _check_waiting("weight", self.weight)
        outer, inner = self.out_channels, self.in_channels
        if self.transposed:
            outer, inner = inner, outer
        self.weight.materialize((outer, inner // self.groups, *self.kernel_size))
        if self.bias is not None:
            _check_waiting("bias", self.bias)
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input: Any) -> int:
        dims = self._get_num_spatial_dims()
        if input.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {self.__class__.__name__}, but "
                f"got input of size: {input.shape}"
            )
        channels: int = input.shape[1] if input.dim() == dims + 2 else input.shape[0]
        return channels

    def _get_num_spatial_dims(self) -> int:
        raise NotImplementedError


def _check_waiting(name: str, parameter: Any) -> None:
    if not isinstance(parameter, UninitializedParameter):
        raise AssertionError(f"self.{name} must be an UninitializedParameter")


class _LazyConv(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._wait(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin):
    def __init__(
        self,
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
        steps = (kernel_size, stride, padding, output_padding)
        super().__init__(0, 0, *steps, groups, False, dilation, padding_mode, device, dtype)
        self._wait(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConv, Conv1d):
    """A Conv1d whose in_channels is inferred."""

    cls_to_become = Conv1d

    def _get_num_spatial_dims(self) -> int:
        return 1


class LazyConv2d(_LazyConv, Conv2d):
    """A Conv2d whose in_channels is inferred."""

    cls_to_become = Conv2d

    def _get_num_spatial_dims(self) -> int:
        return 2


class LazyConv3d(_LazyConv, Conv3d):
    """A Conv3d whose in_channels is inferred."""

    cls_to_become = Conv3d

    def _get_num_spatial_dims(self) -> int:
        return 3


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A ConvTranspose1d whose in_channels is inferred."""

    cls_to_become = ConvTranspose1d

    def _get_num_spatial_dims(self) -> int:
        return 1


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A ConvTranspose2d whose in_channels is inferred."""

    cls_to_become = ConvTranspose2d

    def _get_num_spatial_dims(self) -> int:
        return 2


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A ConvTranspose3d whose in_channels is inferred."""

    cls_to_become = ConvTranspose3d

    def _get_num_spatial_dims(self) -> int:
        return 3
