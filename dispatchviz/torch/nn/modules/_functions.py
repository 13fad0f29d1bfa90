"""Functions that modules put into the graph (``torch/nn/modules/_functions.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch.autograd.function import Function


class BackwardHookFunction(Function):
    """The identity that a module's full backward hooks hang on."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """The arguments themselves."""
        ctx.mark_non_differentiable(*[value for value in args if not value.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        """The gradients themselves."""
        return args
