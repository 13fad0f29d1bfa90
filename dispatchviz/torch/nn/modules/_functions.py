"""The Functions that modules put into the graph (``torch/nn/modules/_functions.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.autograd.function import Function


class BackwardHookFunction(Function):
    """The identity that carries a module's full backward hooks."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """Return the arguments themselves."""
        ctx.mark_non_differentiable(*[value for value in args if not value.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        """Return the gradients themselves."""
        return args


class CrossMapLRN2d(Function):
    """Divide by a power of the neighboring channels' squares, updated from channel to channel."""

    @staticmethod
    def forward(ctx: Any, input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> Any:
        """Input (N, C, H, W). Raise ValueError for other inputs."""
        ctx.size, ctx.alpha, ctx.beta, ctx.k = size, alpha, beta, k
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        scale, output = input.new(), input.new()
        output.resize_as_(input)
        scale.resize_as_(input)
        torch.pow(input, 2, out=output)
        _neighbors(scale, output, int((size - 1) / 2 + 1))
        ctx.scale = scale.mul_(alpha / size).add_(k)
        torch.pow(scale, -beta, out=output)
        output.mul_(input)
        ctx.save_for_backward(input, output)
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        """Return the gradient of the input, example by example."""
        input, output = ctx.saved_tensors
        grad_input = grad_output.new()
        channels, size = input.size(1), ctx.size
        ratios = input.new(channels + size - 1, input.size(2), input.size(3))
        total = input.new(input.size(2), input.size(3))
        grad_input.resize_as_(input)
        torch.pow(ctx.scale, -ctx.beta, out=grad_input).mul_(grad_output)
        ratios.zero_()
        center = ratios.narrow(0, int(size - (size - 1) / 2), channels)
        for n in range(input.size(0)):
            torch.mul(grad_output[n], output[n], out=center)
            center.div_(ctx.scale[n])
            torch.sum(ratios.narrow(0, 0, size - 1), 0, keepdim=False, out=total)
            for c in range(channels):
                total.add_(ratios[c + size - 1])
                grad_input[n][c].addcmul_(input[n][c], total, value=-(2 * ctx.alpha * ctx.beta / size))
                total.add_(ratios[c], alpha=-1)
        return grad_input, None, None, None, None


def _neighbors(scale: Any, squares: Any, reach: int) -> None:
    """Fill ``scale`` with the sum of the squares around each channel."""
    channels = squares.size(1)
    first = scale.select(1, 0)
    first.zero_()
    for c in range(min(reach, channels)):
        first.add_(squares.select(1, c))
    for c in range(1, channels):
        before, current = scale.select(1, c - 1), scale.select(1, c)
        current.copy_(before)
        if c < channels - reach + 1:
            current.add_(squares.select(1, c + reach - 1), alpha=1)
        if c > reach:
            current.add_(squares.select(1, c - reach), alpha=-1)
