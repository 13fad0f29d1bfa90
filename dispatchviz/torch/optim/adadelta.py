"""Adadelta (``torch/optim/adadelta.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.optim.foreach_optimizer import ForeachOptimizer, Lists, counter_options, decayed, zeros_like
from dispatchviz.torch.optim.updates import (
    check_capturable,
    check_ranges,
    count_steps,
    grouped,
    scalar_dtype,
    to_scalar,
)

__all__ = ["Adadelta"]


def _single_tensor_adadelta(lists: Lists, group: dict[str, Any]) -> None:
    lr, rho, eps = to_scalar(group["lr"]), group["rho"], group["eps"]
    if group["capturable"]:
        for param, step in zip(lists[0], lists[-1], strict=True):
            check_capturable((param, step), supports_xla=False)
    for param, given, square_avg, acc_delta, step in zip(*lists, strict=True):
        step += 1
        grad = -given if group["maximize"] else given
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        square_avg.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        std = square_avg.add(eps).sqrt_()
        delta = acc_delta.add(eps).sqrt_()
        if group["differentiable"]:
            delta = delta.clone()
        delta.div_(std).mul_(grad)
        acc_delta.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-lr)


def _multi_tensor_adadelta(lists: Lists, group: dict[str, Any]) -> None:
    lr, rho, eps = to_scalar(group["lr"]), group["rho"], group["eps"]
    for (params, grads, square_avgs, acc_deltas, steps), _ in grouped(*lists):
        count_steps(steps)
        if group["maximize"]:
            grads = torch._foreach_neg(grads)
        grads = decayed(grads, params, group)
        torch._foreach_mul_(square_avgs, rho)
        torch._foreach_addcmul_(square_avgs, grads, grads, value=1 - rho)
        std = torch._foreach_add(square_avgs, eps)
        torch._foreach_sqrt_(std)
        deltas = torch._foreach_add(acc_deltas, eps)
        torch._foreach_sqrt_(deltas)
        torch._foreach_div_(deltas, std)
        torch._foreach_mul_(deltas, grads)
        torch._foreach_mul_(acc_deltas, rho)
        torch._foreach_addcmul_(acc_deltas, deltas, deltas, value=1 - rho)
        torch._foreach_add_(params, deltas, alpha=-lr)


class Adadelta(ForeachOptimizer):
    """Adadelta: the step length is that of recent steps over the size of gradients. Raise ValueError for options out of
    range.
    """

    _states = ("square_avg", "acc_delta", "step")
    _single = _single_tensor_adadelta
    _multi = _multi_tensor_adadelta

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_ranges(lr, {"learning rate": lr})
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_ranges(lr, {"epsilon value": eps, "weight_decay value": weight_decay})
        options = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        flags = {"capturable": capturable, "foreach": foreach, "differentiable": differentiable}
        super().__init__(params, {**options, **flags})

    def _new_state(self, parameter: Any, group: dict[str, Any]) -> dict[str, Any]:
        step = torch.zeros((), dtype=scalar_dtype(), **counter_options(parameter, group))
        return {"step": step, "square_avg": zeros_like(parameter), "acc_delta": zeros_like(parameter)}
