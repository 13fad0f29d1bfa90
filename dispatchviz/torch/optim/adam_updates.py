"""The updates of Adam and AdamW: one parameter after the other, in lists, or in one kernel
(``torch/optim/adam.py``).
"""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.optim.updates import (
    check_capturable,
    check_no_scale,
    count_steps,
    grouped,
    moved_for_fused_kernel,
    real_views,
    to_scalar,
    uncount_steps,
    value_of,
    view_as_real,
)

Lists = tuple[list[Any], ...]
"""Parameters, gradients, means, means of squares, the maxima of the means of squares, steps."""


def _requires_grad(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def single_tensor_adam(lists: Lists, group: dict[str, Any]) -> None:
    """Update one parameter after the other. Raise AssertionError if the steps cannot be captured."""
    check_no_scale(group["grad_scale"], group["found_inf"])
    lr, (beta1, beta2) = to_scalar(group["lr"]), map(to_scalar, group["betas"])
    casts: dict[Any, Any] = {(beta1.device, beta1.dtype): beta1} if isinstance(beta1, torch.Tensor) else {}
    params, grads, means, squares, largest, steps = lists
    for i, param in enumerate(params):
        grad = -grads[i] if group["maximize"] else grads[i]
        if group["capturable"]:
            check_capturable((param, steps[i]))
        steps[i] += 1
        grad = _decayed(param, grad, lr, group)
        mean, square = means[i], squares[i]
        most: Any = largest[i] if group["amsgrad"] else None
        if torch.is_complex(param):
            grad, mean, square, most, param = real_views(grad, mean, square, most, param)
        key = (param.device, param.dtype)
        if casts and key not in casts:
            casts[key] = beta1.to(device=param.device, dtype=param.dtype, non_blocking=True)
        mean.lerp_(grad, 1 - casts.get(key, beta1))
        if group["differentiable"] and _requires_grad(beta2):
            square.lerp_(torch.square(grad), weight=1 - beta2)
        else:
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        update = _step_in_tensors if group["capturable"] or group["differentiable"] else _step_in_numbers
        update((param, mean, square, most, steps[i]), (lr, beta1, beta2), group)
        if group["amsgrad"] and torch.is_complex(params[i]):
            torch.view_as_complex(most)


def _decayed(param: Any, grad: Any, lr: Any, group: dict[str, Any]) -> Any:
    decay = group["weight_decay"]
    if decay == 0:
        return grad
    if group["decoupled_weight_decay"]:
        param.mul_(1 - lr * decay)
        return grad
    if group["differentiable"] and _requires_grad(decay):
        return grad.addcmul_(param.clone(), decay)
    return grad.add(param, alpha=decay)


def _step_in_numbers(row: tuple[Any, ...], numbers: tuple[Any, ...], group: dict[str, Any]) -> None:
    param, mean, square, most, count = row
    lr, beta1, beta2 = numbers
    step = value_of(count)
    correction1, correction2 = 1 - beta1**step, 1 - beta2**step
    size, root2 = lr / correction1, correction2**0.5
    if group["amsgrad"]:
        torch.maximum(most, square, out=most)
    root = (most if group["amsgrad"] else square).sqrt()
    param.addcdiv_(mean, (root / root2).add_(group["eps"]), value=-size)


def _correction(beta: Any, step: Any, differentiable: bool) -> Any:
    return 1 - beta ** (step.clone() if differentiable and _requires_grad(beta) else step)


def _step_in_tensors(row: tuple[Any, ...], numbers: tuple[Any, ...], group: dict[str, Any]) -> None:
    """Update without reading the step counter, so that all of it can be captured or differentiated."""
    param, mean, square, most, count = row
    lr, beta1, beta2 = numbers
    differentiable = group["differentiable"]
    correction1, correction2 = (_correction(beta, count, differentiable) for beta in (beta1, beta2))
    size = (lr / correction1).neg()
    root2 = correction2.sqrt()
    if group["amsgrad"]:
        most.copy_(torch.maximum(most.clone() if differentiable else most, square))
    root = (most if group["amsgrad"] else square).sqrt()
    below = (root / (root2 * size)).add_(group["eps"] / size)
    param.addcdiv_(mean.clone() if differentiable else mean, below)


def multi_tensor_adam(lists: Lists, group: dict[str, Any]) -> None:
    """Update lists of parameters alike at once. Raise RuntimeError or ValueError for tensor options, unless they are
    captured.
    """
    if not lists[0]:
        return
    _check_numbers(group)
    if group["capturable"]:
        for param, step in zip(lists[0], lists[5], strict=True):
            check_capturable((param, step), supports_xla=False)
    check_no_scale(group["grad_scale"], group["found_inf"])
    assert not group["differentiable"], "_foreach ops don't support autograd"
    lr, beta1, beta2 = (to_scalar(number) for number in (group["lr"], *group["betas"]))
    on_device: dict[Any, Any] = {}
    if isinstance(beta1, torch.Tensor) and str(beta1.device) != "cpu":
        on_device[beta1.device] = beta1
    for (params, grads, means, squares, largest, steps), _ in grouped(*lists):
        device = params[0].device
        if on_device and device not in on_device:
            on_device[device] = beta1.to(device=device, non_blocking=True)
        view_as_real(params, grads, means, squares, largest)
        if group["maximize"]:
            grads = torch._foreach_neg(grads)
        count_steps(steps)
        grads = _all_decayed(params, grads, lr, group)
        torch._foreach_lerp_(means, grads, 1 - on_device.get(device, beta1))
        torch._foreach_mul_(squares, beta2)
        scaled, value = grads, 1 - beta2
        if isinstance(beta2, torch.Tensor):  # addcmul takes only numbers
            scaled, value = torch._foreach_mul(grads, 1 - beta2), 1.0
        torch._foreach_addcmul_(squares, scaled, grads, value)
        update = _lists_in_tensors if group["capturable"] else _lists_in_numbers
        update((params, means, squares, largest, steps), (lr, beta1, beta2), group)


def _check_numbers(group: dict[str, Any]) -> None:
    betas = zip(("beta1", "beta2"), group["betas"], strict=True)
    for kind, name, value in ((RuntimeError, "lr", group["lr"]), *((ValueError, *pair) for pair in betas)):
        if not isinstance(value, torch.Tensor):
            continue
        if not group["capturable"]:
            raise kind(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
        if value.numel() != 1:
            raise ValueError(f"Tensor {name} must be 1-element")


def _all_decayed(params: list[Any], grads: Any, lr: Any, group: dict[str, Any]) -> Any:
    decay = group["weight_decay"]
    if decay == 0:
        return grads
    if group["decoupled_weight_decay"]:
        torch._foreach_mul_(params, 1 - lr * decay)
        return grads
    if group["maximize"]:  # the gradients are copies already
        torch._foreach_add_(grads, params, alpha=decay)
        return grads
    return torch._foreach_add(grads, params, alpha=decay)


def _roots(squares: list[Any], largest: list[Any], group: dict[str, Any]) -> Any:
    if group["amsgrad"]:
        torch._foreach_maximum_(largest, squares)
    return torch._foreach_sqrt(largest if group["amsgrad"] else squares)


def _lists_in_numbers(lists: Lists, numbers: tuple[Any, ...], group: dict[str, Any]) -> None:
    params, means, squares, largest, steps = lists
    lr, beta1, beta2 = numbers
    corrections1 = [1 - beta1 ** value_of(step) for step in steps]
    corrections2 = [1 - beta2 ** value_of(step) for step in steps]
    sizes = [lr / correction * -1 for correction in corrections1]
    roots2 = [correction**0.5 for correction in corrections2]
    roots = _roots(squares, largest, group)
    torch._foreach_div_(roots, roots2)
    torch._foreach_add_(roots, group["eps"])
    torch._foreach_addcdiv_(params, means, roots, sizes)


def _lists_in_tensors(lists: Lists, numbers: tuple[Any, ...], group: dict[str, Any]) -> None:
    params, means, squares, largest, steps = lists
    lr, beta1, beta2 = numbers
    sizes, corrections = torch._foreach_pow(beta1, steps), torch._foreach_pow(beta2, steps)
    torch._foreach_sub_(sizes, 1)
    torch._foreach_sub_(corrections, 1)
    torch._foreach_neg_(corrections)
    torch._foreach_div_(sizes, lr)
    torch._foreach_reciprocal_(sizes)
    torch._foreach_sqrt_(corrections)
    roots = _roots(squares, largest, group)
    torch._foreach_div_(roots, corrections)
    torch._foreach_add_(roots, group["eps"])
    torch._foreach_div_(roots, sizes)
    torch._foreach_addcdiv_(params, means, roots)


def fused_adam(lists: Lists, group: dict[str, Any]) -> None:
    """Update in one kernel for each device and dtype."""
    if not lists[0]:
        return
    if group["differentiable"]:
        raise RuntimeError("Adam with fused=True does not support differentiable=True")
    beta1, beta2 = (to_scalar(beta) for beta in group["betas"])
    update = torch._fused_adamw_ if group["decoupled_weight_decay"] else torch._fused_adam_
    options = {name: group[name] for name in ("amsgrad", "weight_decay", "eps", "maximize")}
    for parts, _ in grouped(*lists):
        lr, scales = moved_for_fused_kernel(group["lr"], group["grad_scale"], group["found_inf"], parts[0][0].device)
        torch._foreach_add_(parts[-1], 1)
        update(*parts, **options, lr=lr, beta1=beta1, beta2=beta2, **scales)
        uncount_steps(parts[-1], scales["found_inf"])
