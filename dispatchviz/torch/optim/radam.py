"""RAdam (``torch/optim/radam.py``)."""

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

__all__ = ["RAdam"]


def _length(beta2: float, step: float) -> tuple[float, float]:
    """Return the length of the mean of squares in the limit, and now."""
    most = 2 / (1 - beta2) - 1
    return most, most - 2 * step * (beta2**step) / (1 - beta2**step)


def _length_read_off(beta2: float, count: Any) -> tuple[float, float]:
    """Return both lengths from a counter tensor, which is read three times."""
    most = 2 / (1 - beta2) - 1
    twice = 2 * value_of(count)
    return most, most - twice * (beta2 ** value_of(count)) / (1 - beta2 ** value_of(count))


def _rectified(most: float, now: Any) -> Any:
    return ((now - 4) * (now - 2) * most / ((most - 4) * (most - 2) * now)) ** 0.5


def _root(square: Any, group: dict[str, Any]) -> Any:
    root = square.sqrt()
    return root.add(group["eps"]) if group["differentiable"] else root.add_(group["eps"])


def _captured_step(row: tuple[Any, ...], numbers: tuple[Any, ...], step: Any, group: dict[str, Any]) -> None:
    """Compute both kinds of step; a condition selects one."""
    param, mean, square = row
    lr, beta1, beta2 = numbers
    correction1, correction2 = 1 - beta1**step, 1 - beta2**step
    corrected = mean / correction1
    most = 2 / (1 - beta2) - 1
    now = most - 2 * step * (beta2**step) / correction2
    update = torch.where(now > 5.0, _rectified(most, now) * (correction2**0.5 / _root(square, group)), 1.0)
    param.add_(corrected * lr * update, alpha=-1.0)


def _single_tensor_radam(lists: Lists, group: dict[str, Any]) -> None:
    lr, decay = to_scalar(group["lr"]), group["weight_decay"]
    beta1, beta2 = group["betas"]
    for param, given, mean, square, count in zip(*lists, strict=True):
        grad = -given if group["maximize"] else given
        if group["capturable"]:
            check_capturable((param, count))
        count += 1
        step = count if group["capturable"] else value_of(count)
        if decay != 0 and group["decoupled_weight_decay"]:
            param.mul_(1 - lr * decay)
        elif decay != 0:
            grad = grad.add(param, alpha=decay)
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["capturable"]:
            _captured_step((param, mean, square), (lr, beta1, beta2), step, group)
            continue
        corrected = mean / (1 - beta1**step)
        most, now = _length(beta2, step)
        if now > 5.0:
            scaled = corrected * lr
            adaptive = (1 - beta2**step) ** 0.5 / _root(square, group)
            param.add_(scaled * adaptive * _rectified(most, now), alpha=-1.0)
        else:
            param.add_(corrected * lr, alpha=-1.0)


def _multi_tensor_radam(lists: Lists, group: dict[str, Any]) -> None:
    lr, decay = to_scalar(group["lr"]), group["weight_decay"]
    beta1, beta2 = group["betas"]
    for (params, grads, means, squares, counts), _ in grouped(*lists):
        count_steps(counts)
        if group["maximize"]:
            grads = torch._foreach_neg(grads)
        lengths = [_length_read_off(beta2, count) for count in counts]
        if decay != 0 and group["decoupled_weight_decay"]:
            torch._foreach_mul_(params, 1 - lr * decay)
        else:
            grads = decayed(grads, params, group)
        torch._foreach_lerp_(means, grads, 1 - beta1)
        torch._foreach_mul_(squares, beta2)
        torch._foreach_addcmul_(squares, grads, grads, 1 - beta2)
        rectified = [_rectified(most, now) if now > 5 else 0 for most, now in lengths]
        corrections = [1 - beta1 ** value_of(count) for count in counts]
        plain = [lr * (0 if part > 0 else 1.0) / each * -1 for part, each in zip(rectified, corrections, strict=True)]
        triples = zip(counts, rectified, corrections, strict=True)
        scales = [(1 - beta2 ** value_of(count)) ** 0.5 * (lr * part / each) * -1 for count, part, each in triples]
        buffer = torch._foreach_sqrt(squares)
        torch._foreach_add_(buffer, group["eps"])
        torch._foreach_div_(buffer, scales)
        torch._foreach_reciprocal_(buffer)
        torch._foreach_add_(buffer, plain)
        torch._foreach_addcmul_(params, means, buffer)


class RAdam(ForeachOptimizer):
    """Adam with rectified variance of the adaptive learning rate. Raise ValueError for options out of range."""

    _states = ("exp_avg", "exp_avg_sq", "step")
    _single = _single_tensor_radam
    _multi = _multi_tensor_radam

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_ranges(lr, {"learning rate": lr, "epsilon value": eps})
        check_betas(betas)
        check_ranges(lr, {"weight_decay value": weight_decay})
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        flags = {"foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay}
        super().__init__(params, {**options, **flags, "differentiable": differentiable})

    def _new_state(self, parameter: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": counter(parameter, group),
            "exp_avg": zeros_like(parameter),
            "exp_avg_sq": zeros_like(parameter),
        }
