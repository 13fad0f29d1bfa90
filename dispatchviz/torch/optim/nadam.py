"""NAdam (``torch/optim/nadam.py``)."""

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

__all__ = ["NAdam"]


def _momentum(group: dict[str, Any], step: Any) -> Any:
    return group["betas"][0] * (1.0 - 0.5 * (0.96 ** (step * group["momentum_decay"])))


def _single_tensor_nadam(lists: Lists, group: dict[str, Any]) -> None:
    lr, decay = to_scalar(group["lr"]), group["weight_decay"]
    beta1, beta2 = group["betas"]
    for param, given, mean, square, product, count in zip(*lists, strict=True):
        grad = -given if group["maximize"] else given
        if group["capturable"]:
            check_capturable((param, product, count), "params, mu_products and state_steps")
        count += 1
        step = count if group["capturable"] else value_of(count)
        correction = 1 - beta2**step
        if decay != 0 and group["decoupled_weight_decay"]:
            param.mul_(1 - lr * decay)
        elif decay != 0:
            grad = grad.add(param, alpha=decay)
        mu, following = _momentum(group, step), _momentum(group, step + 1)
        product *= mu
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        root = square.div(correction).sqrt()
        if group["capturable"] or group["differentiable"]:
            root = root.add(group["eps"])
            next_product = product * following
            grad = grad * (-lr * (1.0 - mu) / (1.0 - product))
            mean = mean * (-lr * following / (1.0 - next_product))
            param.addcdiv_(grad, root)
            param.addcdiv_(mean, root)
            continue
        next_product = value_of(product) * following
        root.add_(group["eps"])
        param.addcdiv_(grad, root, value=-lr * (1.0 - mu) / (1.0 - value_of(product)))
        param.addcdiv_(mean, root, value=-lr * following / (1.0 - next_product))


def _multi_tensor_nadam(lists: Lists, group: dict[str, Any]) -> None:
    lr, decay = to_scalar(group["lr"]), group["weight_decay"]
    beta1, beta2 = group["betas"]
    for (params, grads, means, squares, products, counts), _ in grouped(*lists):
        if group["maximize"]:
            grads = torch._foreach_neg(grads)
        count_steps(counts)
        if decay != 0 and group["decoupled_weight_decay"]:
            torch._foreach_mul_(params, 1 - lr * decay)
        else:
            grads = decayed(grads, params, group)
        torch._foreach_lerp_(means, grads, 1 - beta1)
        torch._foreach_mul_(squares, beta2)
        torch._foreach_addcmul_(squares, grads, grads, 1 - beta2)
        roots = torch._foreach_sqrt(squares)
        corrections = [(1 - beta2 ** value_of(count)) ** 0.5 for count in counts]
        mus = [_momentum(group, value_of(count)) for count in counts]
        following = [_momentum(group, value_of(count) + 1) for count in counts]
        torch._foreach_mul_(products, mus)
        torch._foreach_div_(roots, corrections)
        torch._foreach_add_(roots, group["eps"])
        rate = value_of(lr)
        pairs = zip(products, mus, strict=True)
        of_grads = [rate * (1.0 - mu) / (1.0 - value_of(product)) * -1 for product, mu in pairs]
        pairs = zip(products, following, strict=True)
        of_means = [rate * mu / (1.0 - value_of(product) * mu) * -1 for product, mu in pairs]
        torch._foreach_addcdiv_(params, grads, roots, of_grads)
        torch._foreach_addcdiv_(params, means, roots, of_means)


class NAdam(ForeachOptimizer):
    """Adam with Nesterov's momentum. Raise ValueError for options out of range."""

    _states = ("exp_avg", "exp_avg_sq", "mu_product", "step")
    _single = _single_tensor_nadam
    _multi = _multi_tensor_nadam

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_ranges(lr, {"learning rate": lr, "epsilon value": eps})
        check_betas(betas)
        check_ranges(lr, {"weight_decay value": weight_decay, "momentum_decay value": momentum_decay})
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay}
        flags = {"decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach}
        super().__init__(params, {**options, **flags, "capturable": capturable, "differentiable": differentiable})

    def _new_state(self, parameter: Any, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": counter(parameter, group), "mu_product": counter(parameter, group, 1.0)}
        return {**state, "exp_avg": zeros_like(parameter), "exp_avg_sq": zeros_like(parameter)}
