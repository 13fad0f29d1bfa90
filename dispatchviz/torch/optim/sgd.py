"""Stochastic gradient descent (``torch/optim/sgd.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.optim.optimizer import Optimizer, use_grad_for_differentiable
from dispatchviz.torch.optim.updates import (
    allow_fused,
    check_device_for_fused,
    check_no_scale,
    chosen,
    grouped,
    run_closure,
    to_scalar,
)

__all__ = ["SGD", "sgd"]


class SGD(Optimizer):
    """``p -= lr * (momentum of) (grad + weight_decay * p)``. Raise ValueError for options out of range."""

    _checked_for_fused = False
    """True once the first parameter was checked; the others are not."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, value in (("learning rate", lr), ("momentum value", momentum), ("weight_decay value", weight_decay)):
            if value < 0.0:
                raise ValueError(f"Invalid {name}: {value}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        options = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        kinds = {"foreach": foreach, "differentiable": differentiable, "fused": fused}
        super().__init__(params, {**options, "nesterov": nesterov, "maximize": maximize, **kinds})
        allow_fused(self, fused, foreach, differentiable)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        usual = {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False}
        for group in self.param_groups:
            for name, value in usual.items():
                group.setdefault(name, value)

    def _with_gradient(self, group: dict[str, Any]) -> list[Any]:
        found = [parameter for parameter in group["params"] if parameter.grad is not None]
        if group["fused"] and found and not self._checked_for_fused:
            check_device_for_fused(found[0])
            self._checked_for_fused = True
        return found

    @use_grad_for_differentiable
    def step(self, closure: Any = None) -> Any:
        """Update every parameter that has a gradient once, and return the result of the closure."""
        loss = run_closure(closure)
        for group in self.param_groups:
            params = self._with_gradient(group)
            grads = [parameter.grad for parameter in params]
            buffers = [self.state[p].get("momentum_buffer") for p in params] if group["momentum"] != 0 else []
            names = ("weight_decay", "momentum", "lr", "dampening", "nesterov", "maximize", "foreach", "fused")
            scales: dict[str, Any] = {name: getattr(self, name, None) for name in ("grad_scale", "found_inf")}
            sgd(params, grads, buffers, **{name: group[name] for name in names}, **scales)
            for parameter, buffer in zip(params, buffers, strict=False):
                self.state[parameter]["momentum_buffer"] = buffer
        return loss


def sgd(
    params: list[Any],
    d_p_list: list[Any],
    momentum_buffer_list: list[Any],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: Any = None,
    found_inf: Any = None,
    *,
    weight_decay: Any,
    momentum: float,
    lr: Any,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """Run SGD's update as a function; the momentum buffers are stored in their list."""
    foreach, fused = chosen(foreach, fused, params)
    update = _multi_tensor_sgd if foreach else _fused_sgd if fused else _single_tensor_sgd
    if update is not _fused_sgd:
        check_no_scale(grad_scale, found_inf)
    scales: dict[str, Any] = {"grad_scale": grad_scale, "found_inf": found_inf} if update is _fused_sgd else {}
    options = {"weight_decay": weight_decay, "momentum": momentum, "lr": lr, "dampening": dampening}
    update(params, d_p_list, momentum_buffer_list, **options, nesterov=nesterov, maximize=maximize, **scales)


def _single_tensor_sgd(
    params: list[Any],
    grads: list[Any],
    buffers: list[Any],
    weight_decay: Any,
    momentum: float,
    lr: Any,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    lr = to_scalar(lr)
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        if isinstance(weight_decay, torch.Tensor) and weight_decay.requires_grad:
            grad = grad.addcmul_(param.clone(), weight_decay)
        elif weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        if momentum != 0:
            if buffers[i] is None:
                buffers[i] = grad.detach().clone()
            else:
                buffers[i].mul_(momentum).add_(grad, alpha=1 - dampening)
            grad = grad.add(buffers[i], alpha=momentum) if nesterov else buffers[i]
        if isinstance(lr, torch.Tensor) and lr.requires_grad:
            param.addcmul_(grad, lr, value=-1)
        else:
            param.add_(grad, alpha=-lr)


def _multi_tensor_sgd(
    params: list[Any],
    grads: list[Any],
    buffers: list[Any],
    weight_decay: Any,
    momentum: float,
    lr: Any,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    lr = to_scalar(lr)
    for (own, gradients, own_buffers), indices in grouped(params, grads, buffers):
        if maximize:
            gradients = torch._foreach_neg(gradients)
        if weight_decay != 0 and maximize:
            torch._foreach_add_(gradients, own, alpha=weight_decay)
        elif weight_decay != 0:
            gradients = torch._foreach_add(gradients, own, alpha=weight_decay)
        if momentum != 0:
            moved = _moved(own_buffers, gradients, momentum, dampening)
            for index, buffer in zip(indices, moved, strict=True):
                buffers[index] = buffer
            if nesterov:
                torch._foreach_add_(gradients, moved, alpha=momentum)
            else:
                gradients = moved
        torch._foreach_add_(own, gradients, alpha=-lr)


def _moved(buffers: list[Any], gradients: list[Any], momentum: float, dampening: float) -> list[Any]:
    """Return the momentum after this gradient, computed at once if every parameter has a buffer."""
    if all(buffer is not None for buffer in buffers):
        torch._foreach_mul_(buffers, momentum)
        torch._foreach_add_(buffers, gradients, alpha=1 - dampening)
        return buffers
    return [
        gradient.detach().clone() if buffer is None else buffer.mul_(momentum).add_(gradient, alpha=1 - dampening)
        for buffer, gradient in zip(buffers, gradients, strict=True)
    ]


def _fused_sgd(
    params: list[Any], grads: list[Any], buffers: list[Any], grad_scale: Any, found_inf: Any, **options: Any
) -> None:
    if not params:
        return
    first = bool(buffers) and all(buffer is None for buffer in buffers)
    if first:
        buffers[:] = [torch.empty_like(gradient) for gradient in grads]
    for (own, gradients, own_buffers), _ in grouped(params, grads, buffers):
        given = {"grad_scale": grad_scale, "found_inf": found_inf}
        scales = {name: None if one is None else one.to(own[0].device) for name, one in given.items()}
        torch._fused_sgd_(own, gradients, own_buffers, **options, is_first_step=first, **scales)
