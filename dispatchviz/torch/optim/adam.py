"""Adam and AdamW (``torch/optim/adam.py``, ``adamw.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.optim.adam_updates import fused_adam, multi_tensor_adam, single_tensor_adam
from dispatchviz.torch.optim.optimizer import Optimizer, use_grad_for_differentiable
from dispatchviz.torch.optim.updates import (
    allow_fused,
    check_device_for_fused,
    chosen,
    counter,
    make_counters_tensors,
    run_closure,
    to_scalar,
)

__all__ = ["Adam", "AdamW", "adam"]

_OPTIONS = ("amsgrad", "lr", "weight_decay", "eps", "maximize", "foreach", "capturable", "differentiable", "fused")


class Adam(Optimizer):
    """Adam: the mean of gradients over the root of the mean of their squares. Raise ValueError for bad options."""

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
        options = {"lr": lr, "betas": tuple(map(to_scalar, betas[:2])), "eps": eps, "weight_decay": weight_decay}
        kinds = {"foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused}
        flags = {"amsgrad": amsgrad, "maximize": maximize}
        super().__init__(params, {**options, **flags, **kinds, "decoupled_weight_decay": decoupled_weight_decay})
        allow_fused(self, fused, foreach, differentiable)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        usual = {"amsgrad": False, "maximize": False, "foreach": None, "capturable": False, "differentiable": False}
        for group in self.param_groups:
            for name, value in {**usual, "decoupled_weight_decay": False, "fused": None}.items():
                group.setdefault(name, value)
            make_counters_tensors(self.state, group)

    def _state_of(self, parameter: Any, group: dict[str, Any]) -> dict[str, Any]:
        state: dict[str, Any] = self.state[parameter]
        if not state:
            if group["fused"]:
                check_device_for_fused(parameter)
            names = ["exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else [])]
            state["step"] = counter(parameter, group)
            for name in names:
                state[name] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
        if group["differentiable"] and state["step"].requires_grad:
            raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
        if group["foreach"] and torch.is_tensor(group["lr"]) and not group["capturable"]:
            raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")
        return state

    @use_grad_for_differentiable
    def step(self, closure: Any = None) -> Any:
        """Update every parameter that has a gradient once, and return the result of the closure."""
        loss = run_closure(closure)
        for group in self.param_groups:
            params = [parameter for parameter in group["params"] if parameter.grad is not None]
            states = [self._state_of(parameter, group) for parameter in params]
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
                grad_scale=getattr(self, "grad_scale", None),
                found_inf=getattr(self, "found_inf", None),
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
    """Adam with weight decay that bypasses the means."""

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
    grad_scale: Any = None,
    found_inf: Any = None,
    has_complex: bool = False,
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
    """Run Adam's update as a function. Raise RuntimeError if the steps are not tensors."""
    if fused is None and foreach is None and isinstance(lr, torch.Tensor) and not capturable:
        foreach = False
    foreach, fused = chosen(foreach, fused, params, differentiable)
    if not all(isinstance(step, torch.Tensor) for step in state_steps):
        raise RuntimeError("API has changed, `state_steps` argument must contain a list of singleton tensors")
    update = fused_adam if fused else multi_tensor_adam if foreach else single_tensor_adam
    group = {"betas": (beta1, beta2), "lr": lr, "weight_decay": weight_decay, "eps": eps, "amsgrad": amsgrad}
    kinds = {"maximize": maximize, "capturable": capturable, "differentiable": differentiable}
    scales = {"grad_scale": grad_scale, "found_inf": found_inf, "decoupled_weight_decay": decoupled_weight_decay}
    update((params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps), {**group, **kinds, **scales})
