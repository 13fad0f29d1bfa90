"""Rprop (``torch/optim/rprop.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.optim.foreach_optimizer import ForeachOptimizer, Lists, counter_options, zeros_like
from dispatchviz.torch.optim.updates import (
    check_capturable,
    check_ranges,
    count_steps,
    grouped,
    scalar_dtype,
    to_scalar,
)

__all__ = ["Rprop"]


def _factors(sign: Any, etas: tuple[float, float]) -> None:
    """Replace each sign by the factor for the step size."""
    sign[sign.gt(0)] = etas[1]
    sign[sign.lt(0)] = etas[0]
    sign[sign.eq(0)] = 1


def _captured_factors(sign: Any, etas: tuple[float, float]) -> None:
    """Replace each sign by the factor, without reading the number of signs of a kind."""
    sign.copy_(torch.where(sign.gt(0), etas[1], sign))
    sign.copy_(torch.where(sign.lt(0), etas[0], sign))
    sign.copy_(torch.where(sign.eq(0), 1, sign))


def _single_tensor_rprop(lists: Lists, group: dict[str, Any]) -> None:
    for param, given, prev, step_size, step in zip(*lists, strict=True):
        grad = -given if group["maximize"] else given
        if group["capturable"]:
            check_capturable((param, step))
        step += 1
        sign = grad.mul(prev.clone() if group["differentiable"] else prev).sign()
        (_captured_factors if group["capturable"] else _factors)(sign, group["etas"])
        step_size.mul_(sign).clamp_(*group["step_sizes"])
        grad = grad.clone(memory_format=torch.preserve_format)
        if group["capturable"]:
            grad.copy_(torch.where(sign.eq(group["etas"][0]), 0, grad))
        else:
            grad[sign.eq(group["etas"][0])] = 0
        param.addcmul_(grad.sign(), step_size, value=-1)
        prev.copy_(grad)


def _multi_tensor_rprop(lists: Lists, group: dict[str, Any]) -> None:
    for (params, grads, prevs, step_sizes, steps), _ in grouped(*lists):
        count_steps(steps)
        signs = torch._foreach_mul(grads, prevs)
        if group["maximize"]:
            torch._foreach_neg_(signs)
        torch._foreach_copy_(prevs, grads)
        if group["maximize"]:
            torch._foreach_neg_(prevs)
        torch._foreach_sign_(signs)
        for sign in signs:
            _factors(sign, group["etas"])
        torch._foreach_mul_(step_sizes, signs)
        for step_size in step_sizes:
            step_size.clamp_(*group["step_sizes"])
        for grad, sign in zip(prevs, signs, strict=True):
            grad.copy_(torch.where(sign.eq(group["etas"][0]), 0, grad))
        torch._foreach_addcmul_(params, [grad.sign() for grad in prevs], step_sizes, value=-1)


class Rprop(ForeachOptimizer):
    """Rprop: steps along the sign of the gradient, which grow as long as the sign stays. Raise ValueError for options
    out of range.
    """

    _states = ("prev", "step_size", "step")
    _single = _single_tensor_rprop
    _multi = _multi_tensor_rprop

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_ranges(lr, {"learning rate": lr})
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        options = {"lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize}
        super().__init__(params, {**options, "differentiable": differentiable, "capturable": capturable})

    def _new_state(self, parameter: Any, group: dict[str, Any]) -> dict[str, Any]:
        state = {
            "step": torch.zeros((), dtype=scalar_dtype(), **counter_options(parameter, group)),
            "prev": zeros_like(parameter),
        }
        return {**state, "step_size": torch.full_like(parameter.grad, to_scalar(group["lr"]))}
