"""Optimizers with per-parameter state that update tensor by tensor or with foreach kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.optim.optimizer import Optimizer, use_grad_for_differentiable
from dispatchviz.torch.optim.updates import chosen, run_closure, scalar_dtype

Lists = tuple[list[Any], ...]
"""The parameters, the gradients, then the states by name."""

Update = Callable[[Lists, dict[str, Any]], None]


class ForeachOptimizer(Optimizer):
    """Base class: subclasses define the state of a parameter and the update of a group.

    NB: in PyTorch, lists can also be ``capturable``; here only single tensors can.
    """

    _states: ClassVar[tuple[str, ...]]
    _single: ClassVar[Update]
    _multi: ClassVar[Update]

    def _new_state(self, parameter: Any, group: dict[str, Any]) -> dict[str, Any]:
        """Return the state of a parameter, created in its first step."""
        raise NotImplementedError

    @use_grad_for_differentiable
    def step(self, closure: Any = None) -> Any:
        """Update every parameter that has a gradient once, and return the result of the closure."""
        loss = run_closure(closure)
        for group in self.param_groups:
            params = [parameter for parameter in group["params"] if parameter.grad is not None]
            for parameter in params:
                if not self.state[parameter]:
                    self.state[parameter].update(self._new_state(parameter, group))
            states = [[self.state[parameter][name] for parameter in params] for name in self._states]
            lists = (params, [parameter.grad for parameter in params], *states)
            foreach, _ = chosen(group["foreach"], None, params, group["differentiable"])
            check_lists(type(self).__name__, foreach, group)
            (type(self)._multi if foreach else type(self)._single)(lists, group)
        return loss


def counter_options(parameter: Any, group: dict[str, Any]) -> dict[str, Any]:
    """Return factory options for a step counter: the parameter's device if it is capturable."""
    return {"device": parameter.device} if group["capturable"] else {}


def zeros_like(parameter: Any) -> Any:
    """Return zeros with the memory layout of the parameter."""
    return torch.zeros_like(parameter, memory_format=torch.preserve_format)


def check_lists(name: str, foreach: bool, group: dict[str, Any]) -> None:
    """Raise AssertionError for ``differentiable`` with foreach, NotImplementedError for ``capturable`` with foreach."""
    if foreach and group["differentiable"]:
        raise AssertionError("_foreach ops don't support autograd")
    if foreach and group["capturable"]:
        raise NotImplementedError(f"capturable {name} is in dispatchviz's model of PyTorch only with foreach=False")


def counter(parameter: Any, group: dict[str, Any], value: float = 0.0) -> Any:
    """Return a step counter: a CPU tensor from ``torch.tensor``, or if capturable a tensor on the parameter's
    device.
    """
    if not group["capturable"]:
        return torch.tensor(value, dtype=scalar_dtype())
    make = torch.ones if value else torch.zeros
    return make((), dtype=scalar_dtype(), device=parameter.device)


def decayed(grads: Any, params: list[Any], group: dict[str, Any]) -> Any:
    """Add weight decay to lists of gradients, in place if ``maximize`` has created new ones."""
    decay = group["weight_decay"]
    if decay == 0:
        return grads
    if group["maximize"]:
        torch._foreach_add_(grads, params, alpha=decay)
        return grads
    return torch._foreach_add(grads, params, alpha=decay)


def check_betas(betas: tuple[float, float]) -> None:
    """Raise ValueError unless both betas are at least 0 and below 1."""
    for index, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
