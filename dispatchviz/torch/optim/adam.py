"""Adam and AdamW (``torch/optim/adam.py``, ``adamw.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._face import torch
from dispatchviz.torch.optim.optimizer import Optimizer, use_grad_for_differentiable
from dispatchviz.torch.optim.updates import (
    check_device_for_fused,
    chosen,
    count_steps,
    grouped,
    real_views,
    run_closure,
    scalar_dtype,
    to_scalar,
    value_of,
    view_as_real,
)

__all__ = ["Adam", "AdamW", "adam"]

_OPTIONS = ("amsgrad", "lr", "weight_decay", "eps", "maximize", "foreach", "capturable", "differentiable", "fused")


class Adam(Optimizer):
    """Steps by the mean of gradients over the root of the mean of their squares. ValueError for bad options."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        _check_tensor(lr, "lr", "lr", foreach, capturable)
        _check_ranges(lr, betas, eps, weight_decay)
        for i, beta in enumerate(betas):
            _check_tensor(beta, f"betas[{i}]", f"betas[{i}]", foreach, capturable)
        options = {"lr": lr, "betas": tuple(map(to_scalar, betas)), "eps": eps, "weight_decay": weight_decay}
        kinds = {"foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused}
        flags = {"amsgrad": amsgrad, "maximize": maximize}
        super().__init__(params, {**options, **flags, **kinds, "decoupled_weight_decay": decoupled_weight_decay})
        if fused and differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if fused and foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def _new_state(self, parameter: Any, group: dict[str, Any]) -> dict[str, Any]:
        on_device = group["capturable"] or group["fused"]
        if group["fused"]:
            check_device_for_fused(parameter)
        if on_device:
            dtype = torch.float32 if group["fused"] else scalar_dtype()
            step = torch.zeros((), dtype=dtype, device=parameter.device)
        else:  # on the CPU, so that reading it makes nobody wait
            step = torch.tensor(0.0, dtype=scalar_dtype(), device="cpu")
        names = ["exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else [])]
        zeros = {name: torch.zeros_like(parameter, memory_format=torch.preserve_format) for name in names}
        return {"step": step, **zeros}

    @use_grad_for_differentiable
    def step(self, closure: Any = None) -> Any:
        """One update of every parameter that has a gradient; gives what the closure gives."""
        loss = run_closure(closure)
        for group in self.param_groups:
            params = [parameter for parameter in group["params"] if parameter.grad is not None]
            for parameter in params:
                if not self.state[parameter]:
                    self.state[parameter].update(self._new_state(parameter, group))
            states = [self.state[parameter] for parameter in params]
            beta1, beta2 = group["betas"]
            adam(
                params,
                [parameter.grad for parameter in params],
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [state["max_exp_avg_sq"] for state in states] if group["amsgrad"] else [],
                [state["step"] for state in states],
                **{name: group[name] for name in _OPTIONS},
                beta1=beta1,
                beta2=beta2,
                decoupled_weight_decay=group["decoupled_weight_decay"],
            )
        return loss


def _check_tensor(value: Any, name: str, short: str, foreach: bool | None, capturable: bool) -> None:
    if not isinstance(value, torch.Tensor):
        return
    if foreach and not capturable:
        raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
    if value.numel() != 1:
        raise ValueError(f"Tensor {short} must be 1-element")


def _check_ranges(lr: Any, betas: tuple[Any, Any], eps: float, weight_decay: float) -> None:
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")
    if not eps >= 0.0:
        raise ValueError(f"Invalid epsilon value: {eps}")
    for i in range(2):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")
    if not weight_decay >= 0.0:
        raise ValueError(f"Invalid weight_decay value: {weight_decay}")
    if not (all(isinstance(beta, float) for beta in betas) or all(isinstance(beta, torch.Tensor) for beta in betas)):
        raise ValueError("betas must be either both floats or both Tensors")


class AdamW(Adam):
    """Adam whose weight decay does not go through the means."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        kinds: Any = {"foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused}
        options = (lr, betas, eps, weight_decay, amsgrad)
        super().__init__(params, *options, maximize=maximize, **kinds, decoupled_weight_decay=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


def adam(
    params: list[Any],
    grads: list[Any],
    exp_avgs: list[Any],
    exp_avg_sqs: list[Any],
    max_exp_avg_sqs: list[Any],
    state_steps: list[Any],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: Any,
    beta2: Any,
    lr: Any,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """The update as a function. RuntimeError if the steps are no tensors.

    NB: in PyTorch, there are updates that are ``capturable`` and ``differentiable``.
    """
    if fused is None and foreach is None and isinstance(lr, torch.Tensor) and not capturable:
        foreach = False
    foreach, fused = chosen(foreach, fused, params, differentiable)
    if not all(isinstance(step, torch.Tensor) for step in state_steps):
        raise RuntimeError("API has changed, `state_steps` argument must contain a list of singleton tensors")
    if capturable or differentiable:
        raise NotImplementedError("capturable and differentiable Adam is not in dispatchviz's model of PyTorch")
    lists = (params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps)
    options = {"beta1": beta1, "beta2": beta2, "lr": lr, "weight_decay": weight_decay, "eps": eps}
    flags = {"amsgrad": amsgrad, "maximize": maximize}
    if fused:
        _fused_adam(lists, decoupled_weight_decay, **options, **flags)
    elif foreach:
        _multi_tensor_adam(lists, decoupled_weight_decay, **options, **flags)
    else:
        _single_tensor_adam(lists, decoupled_weight_decay, **options, **flags)


def _single_tensor_adam(
    lists: tuple[list[Any], ...],
    decoupled: bool,
    amsgrad: bool,
    beta1: Any,
    beta2: Any,
    lr: Any,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    lr, beta1, beta2 = to_scalar(lr), to_scalar(beta1), to_scalar(beta2)
    params, grads, means, squares, largest, steps = lists
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        steps[i] += 1
        if weight_decay != 0:
            if decoupled:
                param.mul_(1 - lr * weight_decay)
            else:
                grad = grad.add(param, alpha=weight_decay)
        mean, square = means[i], squares[i]
        most: Any = largest[i] if amsgrad else None
        if torch.is_complex(param):
            grad, mean, square, most, param = real_views(grad, mean, square, most, param)
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        step = value_of(steps[i])
        correction1, correction2 = 1 - beta1**step, 1 - beta2**step
        if amsgrad:
            torch.maximum(most, square, out=most)
        root = (most if amsgrad else square).sqrt()
        param.addcdiv_(mean, (root / correction2**0.5).add_(eps), value=-(lr / correction1))
        if amsgrad and torch.is_complex(params[i]):
            torch.view_as_complex(most)


def _multi_tensor_adam(
    lists: tuple[list[Any], ...],
    decoupled: bool,
    amsgrad: bool,
    beta1: Any,
    beta2: Any,
    lr: Any,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    lr, beta1, beta2 = to_scalar(lr), to_scalar(beta1), to_scalar(beta2)
    for (params, grads, means, squares, largest, steps), _ in grouped(*lists):
        view_as_real(params, grads, means, squares, largest)
        if maximize:
            grads = torch._foreach_neg(grads)
        count_steps(steps)
        if weight_decay != 0:
            if decoupled:
                torch._foreach_mul_(params, 1 - lr * weight_decay)
            elif maximize:
                torch._foreach_add_(grads, params, alpha=weight_decay)
            else:
                grads = torch._foreach_add(grads, params, alpha=weight_decay)
        torch._foreach_lerp_(means, grads, 1 - beta1)
        torch._foreach_mul_(squares, beta2)
        torch._foreach_addcmul_(squares, grads, grads, 1 - beta2)
        corrections1 = [1 - beta1 ** value_of(step) for step in steps]
        corrections2 = [1 - beta2 ** value_of(step) for step in steps]
        if amsgrad:
            torch._foreach_maximum_(largest, squares)
        roots = torch._foreach_sqrt(largest if amsgrad else squares)
        torch._foreach_div_(roots, [correction**0.5 for correction in corrections2])
        torch._foreach_add_(roots, eps)
        torch._foreach_addcdiv_(params, means, roots, [lr / correction * -1 for correction in corrections1])


def _fused_adam(lists: tuple[list[Any], ...], decoupled: bool, beta1: Any, beta2: Any, **options: Any) -> None:
    if not lists[0]:
        return
    betas = {"beta1": to_scalar(beta1), "beta2": to_scalar(beta2)}
    for parts, _ in grouped(*lists):
        torch._foreach_add_(parts[-1], 1)
        update = torch._fused_adamw_ if decoupled else torch._fused_adam_
        update(*parts, **options, **betas, grad_scale=None, found_inf=None)
