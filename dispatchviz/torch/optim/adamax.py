"""Adamax (``torch/optim/adamax.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.optim.foreach_optimizer import (
    ForeachOptimizer,
    Lists,
    check_betas,
    counter,
    decayed,
    zeros_like,
)
from dispatchviz.torch.optim.updates import check_capturable, check_ranges, count_steps, grouped, to_scalar, value_of

__all__ = ["Adamax"]


def _single_tensor_adamax(lists: Lists, group: dict[str, Any]) -> None:
    lr, eps = to_scalar(group["lr"]), group["eps"]
    beta1, beta2 = group["betas"]
    for param, given, mean, largest, step in zip(*lists, strict=True):
        grad = -given if group["maximize"] else given
        if group["capturable"]:
            check_capturable((param, step))
        step += 1
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        mean.lerp_(grad, 1 - beta1)
        if group["differentiable"]:
            both = [largest.mul_(beta2).unsqueeze(0), grad.abs().add_(eps).unsqueeze_(0)]
            largest.copy_(torch.amax(torch.cat(both, 0), 0, keepdim=False))
        else:
            torch.maximum(largest.mul_(beta2), grad.abs().add_(eps), out=largest)
        if group["capturable"]:
            minus_correction = beta1**step - 1
            minus_correction.div_(lr)
            param.addcdiv_(mean, largest * minus_correction)
        else:
            correction = 1 - beta1 ** value_of(step)
            param.addcdiv_(mean, largest, value=-(lr / correction))


def _multi_tensor_adamax(lists: Lists, group: dict[str, Any]) -> None:
    lr, eps, maximize = to_scalar(group["lr"]), group["eps"], group["maximize"]
    beta1, beta2 = group["betas"]
    for (params, grads, means, largest, steps), _ in grouped(*lists):
        if maximize:
            grads = torch._foreach_neg(grads)
        count_steps(steps)
        grads = decayed(grads, params, group)
        torch._foreach_lerp_(means, grads, 1 - beta1)
        torch._foreach_mul_(largest, beta2)
        if not maximize and group["weight_decay"] == 0:
            grads = torch._foreach_abs(grads)
        else:
            torch._foreach_abs_(grads)
        torch._foreach_add_(grads, eps)
        torch._foreach_maximum_(largest, grads)
        corrections = [1 - beta1 ** value_of(step) for step in steps]
        torch._foreach_addcdiv_(params, means, largest, [value_of(lr) / each * -1 for each in corrections])


class Adamax(ForeachOptimizer):
    """Adam with the largest gradient in place of the mean of squares. Raise ValueError for options out of range."""

    _states = ("exp_avg", "exp_inf", "step")
    _single = _single_tensor_adamax
    _multi = _multi_tensor_adamax

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_ranges(lr, {"learning rate": lr, "epsilon value": eps})
        check_betas(betas)
        check_ranges(lr, {"weight_decay value": weight_decay})
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach}
        flags = {"maximize": maximize, "differentiable": differentiable, "capturable": capturable}
        super().__init__(params, {**options, **flags})

    def _new_state(self, parameter: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": counter(parameter, group), "exp_avg": zeros_like(parameter), "exp_inf": zeros_like(parameter)}
