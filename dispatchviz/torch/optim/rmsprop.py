"""RMSprop (``torch/optim/rmsprop.py``). NB: in PyTorch, it can also be capturable and differentiable."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.optim.foreach_optimizer import check_lists, counter_options
from dispatchviz.torch.optim.optimizer import Optimizer, use_grad_for_differentiable
from dispatchviz.torch.optim.updates import (
    check_capturable,
    check_ranges,
    chosen,
    count_steps,
    grouped,
    real_views,
    run_closure,
    scalar_dtype,
    to_scalar,
    view_as_real,
)

__all__ = ["RMSprop"]


class RMSprop(Optimizer):
    """RMSprop: the gradient over the root of the mean of its squares. Raise ValueError for options out of range."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        named = {"learning rate": lr, "epsilon value": eps, "momentum value": momentum}
        check_ranges(lr, {**named, "weight_decay value": weight_decay, "alpha value": alpha})
        options = {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered}
        flags = {"weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize}
        super().__init__(params, {**options, **flags, "differentiable": differentiable})

    def _new_state(self, parameter: Any, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": torch.zeros((), dtype=scalar_dtype(), **counter_options(parameter, group))}
        names = ["square_avg"]
        names += ["momentum_buffer"] if group["momentum"] > 0 else []
        names += ["grad_avg"] if group["centered"] else []
        zeros = {name: torch.zeros_like(parameter, memory_format=torch.preserve_format) for name in names}
        return {**state, **zeros}

    @use_grad_for_differentiable
    def step(self, closure: Any = None) -> Any:
        """Update every parameter that has a gradient once, and return the result of the closure."""
        loss = run_closure(closure)
        for group in self.param_groups:
            params = [parameter for parameter in group["params"] if parameter.grad is not None]
            for parameter in params:
                if not self.state[parameter]:
                    self.state[parameter].update(self._new_state(parameter, group))
            names = ("square_avg", "grad_avg", "momentum_buffer", "step")
            states = [[self.state[p][name] for p in params if name in self.state[p]] for name in names]
            lists = (params, [parameter.grad for parameter in params], *states)
            foreach, _ = chosen(group["foreach"], None, params, group["differentiable"])
            check_lists("RMSprop", foreach, group)
            (_multi_tensor_rmsprop if foreach else _single_tensor_rmsprop)(lists, group)
        return loss


def _single_tensor_rmsprop(lists: tuple[list[Any], ...], group: dict[str, Any]) -> None:
    lr, alpha = to_scalar(group["lr"]), group["alpha"]
    params, grads, squares, means, buffers, steps = lists
    for i, param in enumerate(params):
        if group["capturable"]:
            check_capturable((param, steps[i]))
        grad = -grads[i] if group["maximize"] else grads[i]
        steps[i] += 1
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        square, is_complex = squares[i], torch.is_complex(param)
        if is_complex:
            param, grad, square = real_views(param, grad, square)
        square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = torch.view_as_real(means[i]) if is_complex else means[i]
            mean.lerp_(grad, 1 - alpha)
            root = square.addcmul(mean, mean, value=-1).sqrt_()
        else:
            root = square.sqrt()
        root = root.add(group["eps"]) if group["differentiable"] else root.add_(group["eps"])
        if group["momentum"] > 0:
            buffer = torch.view_as_real(buffers[i]) if is_complex else buffers[i]
            buffer.mul_(group["momentum"]).addcdiv_(grad, root)
            param.add_(buffer, alpha=-lr)
        else:
            param.addcdiv_(grad, root, value=-lr)


def _multi_tensor_rmsprop(lists: tuple[list[Any], ...], group: dict[str, Any]) -> None:
    lr, alpha, decay = to_scalar(group["lr"]), group["alpha"], group["weight_decay"]
    for (params, grads, squares, means, buffers, steps), _ in grouped(*lists):
        view_as_real(params, grads, squares, buffers, means)
        if group["maximize"]:
            grads = torch._foreach_neg(grads)
        count_steps(steps)
        if decay != 0 and group["maximize"]:
            torch._foreach_add_(grads, params, alpha=decay)
        elif decay != 0:
            grads = torch._foreach_add(grads, params, alpha=decay)
        torch._foreach_mul_(squares, alpha)
        torch._foreach_addcmul_(squares, grads, grads, value=1 - alpha)
        if group["centered"]:
            torch._foreach_lerp_(means, grads, 1 - alpha)
            roots = torch._foreach_addcmul(squares, means, means, value=-1)
            torch._foreach_sqrt_(roots)
        else:
            roots = torch._foreach_sqrt(squares)
        torch._foreach_add_(roots, group["eps"])
        if group["momentum"] > 0:
            torch._foreach_mul_(buffers, group["momentum"])
            torch._foreach_addcdiv_(buffers, grads, roots)
            torch._foreach_add_(params, buffers, alpha=-lr)
        else:
            torch._foreach_addcdiv_(params, grads, roots, value=-lr)
