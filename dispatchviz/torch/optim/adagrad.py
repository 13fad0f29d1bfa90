"""Adagrad (``torch/optim/adagrad.py``). NB: PyTorch's also takes sparse gradients."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.optim.optimizer import Optimizer, use_grad_for_differentiable
from dispatchviz.torch.optim.updates import (
    allow_fused,
    check_device_for_fused,
    check_no_scale,
    check_ranges,
    chosen,
    count_steps,
    counter,
    grouped,
    make_counters_tensors,
    moved_for_fused_kernel,
    real_views,
    run_closure,
    to_scalar,
    uncount_steps,
    value_of,
    view_as_real,
)

__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """Adagrad: the gradient over the root of the sum of all its squares. Raise ValueError for options out of range."""

    _checked_for_fused = False
    """True once the first parameter was checked; the others are not."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        first = initial_accumulator_value
        named = {"learning rate": lr, "lr_decay value": lr_decay, "weight_decay value": weight_decay}
        check_ranges(lr, {**named, "initial_accumulator_value value": first, "epsilon value": eps})
        options = {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay}
        flags = {"initial_accumulator_value": first, "foreach": foreach, "maximize": maximize}
        super().__init__(params, {**options, **flags, "differentiable": differentiable, "fused": fused})
        allow_fused(self, fused, foreach, differentiable)
        for group in self.param_groups:
            for parameter in group["params"]:
                self._init_state(parameter, group)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in {"foreach": None, "maximize": False, "differentiable": False, "fused": None}.items():
                group.setdefault(name, value)
            make_counters_tensors(self.state, group)

    def share_memory(self) -> None:
        """Mark the sums as shared between processes."""
        for parameter in self._parameters():
            self.state[parameter]["sum"].share_memory_()

    def _init_state(self, parameter: Any, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        state["step"] = counter(parameter, group)
        first = self.defaults["initial_accumulator_value"]
        first = complex(first, first) if torch.is_complex(parameter) else first
        state["sum"] = torch.full_like(parameter, first, memory_format=torch.preserve_format)

    @use_grad_for_differentiable
    def step(self, closure: Any = None) -> Any:
        """Update every parameter that has a gradient once, and return the result of the closure."""
        loss = run_closure(closure)
        for group in self.param_groups:
            params = [parameter for parameter in group["params"] if parameter.grad is not None]
            if group["fused"] and params and not self._checked_for_fused:
                check_device_for_fused(params[0])
                self._checked_for_fused = True
            for parameter in params:
                if not self.state[parameter]:
                    if group["fused"]:
                        check_device_for_fused(parameter)
                    self._init_state(parameter, group)
            states = [[self.state[parameter][name] for parameter in params] for name in ("sum", "step")]
            lists = (params, [parameter.grad for parameter in params], *states)
            foreach, fused = chosen(group["foreach"], group["fused"], params, group["differentiable"])
            update = _fused_adagrad if fused else _multi_tensor_adagrad if foreach else _single_tensor_adagrad
            update(lists, {**group, **{name: getattr(self, name, None) for name in ("grad_scale", "found_inf")}})
        return loss


def _single_tensor_adagrad(lists: tuple[list[Any], ...], group: dict[str, Any]) -> None:
    check_no_scale(group["grad_scale"], group["found_inf"])
    lr, eps = to_scalar(group["lr"]), group["eps"]
    for param, given, total, count in zip(*lists, strict=True):
        count += 1
        step = value_of(count)
        grad = -given if group["maximize"] else given
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        rate = lr / (1 + (step - 1) * group["lr_decay"])
        is_complex = torch.is_complex(param)
        if is_complex:
            grad, total, param = real_views(grad, total, param)
        total.addcmul_(grad, grad, value=1)
        root = total.sqrt() + eps if group["differentiable"] else total.sqrt().add_(eps)
        param.addcdiv_(grad, root, value=-rate)
        if is_complex:
            torch.view_as_complex(param)
            torch.view_as_complex(total)


def _multi_tensor_adagrad(lists: tuple[list[Any], ...], group: dict[str, Any]) -> None:
    assert not group["differentiable"], "_foreach ops don't support autograd"
    check_no_scale(group["grad_scale"], group["found_inf"])
    lr, decay, maximize = to_scalar(group["lr"]), group["weight_decay"], group["maximize"]
    for (params, grads, sums, steps), _ in grouped(*lists):
        view_as_real(params, grads, sums)
        if maximize:
            grads = torch._foreach_neg(grads)
        count_steps(steps)
        if decay != 0 and maximize:
            torch._foreach_add_(grads, params, alpha=decay)
        elif decay != 0:
            grads = torch._foreach_add(grads, params, alpha=decay)
        rates = [-lr / (1 + (value_of(step) - 1) * group["lr_decay"]) for step in steps]
        torch._foreach_addcmul_(sums, grads, grads, value=1)
        roots = torch._foreach_sqrt(sums)
        torch._foreach_add_(roots, group["eps"])
        if decay != 0 or maximize:
            torch._foreach_mul_(grads, rates)
        else:
            grads = torch._foreach_mul(grads, rates)
        torch._foreach_addcdiv_(params, grads, roots)


def _fused_adagrad(lists: tuple[list[Any], ...], group: dict[str, Any]) -> None:
    if not lists[0]:
        return
    if any(torch.is_complex(parameter) for parameter in lists[0]):
        raise RuntimeError("`fused` does not support sparse grad or complex param")
    if group["differentiable"]:
        raise RuntimeError("adagrad with fused=True does not support differentiable=True")
    options = {name: group[name] for name in ("lr_decay", "weight_decay", "eps", "maximize")}
    for parts, _ in grouped(*lists):
        lr, scales = moved_for_fused_kernel(group["lr"], group["grad_scale"], group["found_inf"], parts[0][0].device)
        torch._foreach_add_(parts[-1], 1)
        torch._fused_adagrad_(*parts, **options, lr=lr, **scales)
        uncount_steps(parts[-1], scales["found_inf"])
