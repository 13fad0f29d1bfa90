"""Adagrad (``torch/optim/adagrad.py``). NB: in PyTorch, it may be differentiable and takes sparse gradients."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._face import torch
from dispatchviz.torch.optim.optimizer import Optimizer, use_grad_for_differentiable
from dispatchviz.torch.optim.updates import (
    check_ranges,
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

__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """Steps by the gradient over the root of the sum of all squares so far. ValueError for options out of range."""

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
        if fused or differentiable:
            raise NotImplementedError("fused and differentiable Adagrad is not in dispatchviz's model of PyTorch")
        for parameter in self._parameters():
            self._init_state(parameter)

    def _init_state(self, parameter: Any) -> None:
        state = self.state[parameter]
        state["step"] = torch.tensor(0.0, dtype=scalar_dtype())
        first = self.defaults["initial_accumulator_value"]
        first = complex(first, first) if torch.is_complex(parameter) else first
        state["sum"] = torch.full_like(parameter, first, memory_format=torch.preserve_format)

    @use_grad_for_differentiable
    def step(self, closure: Any = None) -> Any:
        """One update of every parameter that has a gradient; gives what the closure gives."""
        loss = run_closure(closure)
        for group in self.param_groups:
            params = [parameter for parameter in group["params"] if parameter.grad is not None]
            for parameter in params:
                if not self.state[parameter]:
                    self._init_state(parameter)
            states = [[self.state[parameter][name] for parameter in params] for name in ("sum", "step")]
            lists = (params, [parameter.grad for parameter in params], *states)
            foreach, _ = chosen(group["foreach"], None, params)
            (_multi_tensor_adagrad if foreach else _single_tensor_adagrad)(lists, group)
        return loss


def _single_tensor_adagrad(lists: tuple[list[Any], ...], group: dict[str, Any]) -> None:
    lr = to_scalar(group["lr"])
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
        param.addcdiv_(grad, total.sqrt().add_(group["eps"]), value=-rate)
        if is_complex:
            torch.view_as_complex(param)
            torch.view_as_complex(total)


def _multi_tensor_adagrad(lists: tuple[list[Any], ...], group: dict[str, Any]) -> None:
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
