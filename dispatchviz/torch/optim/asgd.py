"""Averaged SGD (``torch/optim/asgd.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.optim.foreach_optimizer import ForeachOptimizer, Lists, zeros_like
from dispatchviz.torch.optim.updates import (
    check_capturable,
    check_ranges,
    count_steps,
    grouped,
    scalar_dtype,
    to_scalar,
    value_of,
)

__all__ = ["ASGD"]


def _rate(group: dict[str, Any], lr: Any, step: Any) -> Any:
    return lr / ((1 + group["lambd"] * lr * step) ** group["alpha"])


def _single_tensor_asgd(lists: Lists, group: dict[str, Any]) -> None:
    lr, lambd = to_scalar(group["lr"]), group["lambd"]
    for param, given, average, mu, eta, count in zip(*lists, strict=True):
        grad = -given if group["maximize"] else given
        if group["capturable"]:
            check_capturable((param, mu, eta, count), "params, mus, etas, and state_steps")
        count += 1
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        if group["capturable"]:
            param.mul_(1 - lambd * eta)
            param.addcmul_(grad, eta, value=-1)
        else:
            rate = value_of(eta)
            param.mul_(1 - lambd * rate)
            param.add_(grad, alpha=-rate)
        if group["capturable"] or mu.item() != 1:
            average.add_(param.sub(average).mul_(mu))
        else:
            average.copy_(param)
        if group["capturable"]:
            eta.copy_(_rate(group, lr, count))
            mu.copy_(1 / torch.maximum(count - group["t0"], torch.ones_like(count)))
            continue
        step = value_of(count)
        eta.copy_(torch.as_tensor(_rate(group, lr, step)))
        mu.copy_(torch.as_tensor(1 / max(1, step - group["t0"])))


def _multi_tensor_asgd(lists: Lists, group: dict[str, Any]) -> None:
    lr, lambd, decay = to_scalar(group["lr"]), group["lambd"], group["weight_decay"]
    for (params, grads, averages, mus, etas, counts), _ in grouped(*lists):
        device = params[0].device
        if group["maximize"]:
            grads = torch._foreach_neg(grads)
        count_steps(counts)
        if decay != 0 and group["maximize"]:
            torch._foreach_add_(grads, params, alpha=decay)
            changes = grads
            torch._foreach_add_(changes, params, alpha=lambd)
        elif decay != 0:
            changes = torch._foreach_add(grads, params, alpha=decay)
            torch._foreach_add_(changes, params, alpha=lambd)
        else:
            changes = torch._foreach_add(grads, params, alpha=lambd)
        torch._foreach_addcmul_(params, changes, etas, value=-1)
        changes = torch._foreach_sub(params, averages)
        torch._foreach_addcmul_(averages, changes, mus)
        rates = [torch.as_tensor(_rate(group, lr, count), device=device) for count in counts]
        weights = [torch.as_tensor(1 / max(1, value_of(count) - group["t0"]), device=device) for count in counts]
        torch._foreach_copy_(etas, rates)
        torch._foreach_copy_(mus, weights)


class ASGD(ForeachOptimizer):
    """SGD that keeps the mean of the parameters in ``ax``. Raise ValueError for options out of range."""

    _states = ("ax", "mu", "eta", "step")
    _single = _single_tensor_asgd
    _multi = _multi_tensor_asgd

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_ranges(lr, {"learning rate": lr, "weight_decay value": weight_decay})
        options = {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay}
        flags = {"foreach": foreach, "maximize": maximize, "differentiable": differentiable, "capturable": capturable}
        super().__init__(params, {**options, **flags})

    def _new_state(self, parameter: Any, group: dict[str, Any]) -> dict[str, Any]:
        options = {"device": parameter.device, "dtype": scalar_dtype()}
        step = torch.zeros((), **options)
        eta = torch.as_tensor(to_scalar(group["lr"]), **options).clone().detach()
        return {"step": step, "eta": eta, "mu": torch.ones((), **options), "ax": zeros_like(parameter)}
