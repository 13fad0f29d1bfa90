"""``Optimizer`` (``torch/optim/optimizer.py``): groups of parameters, their state, hooks around steps.

Not here: saving and loading (``optimizer_state_dict.py``), and the common parts of updates (``updates.py``).
"""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from dispatchviz.core.autograd.hooks.hooks import RemovableHandle
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.optim.optimizer_state_dict import StateDictMixin

Hook = Callable[..., Any]


class _RequiredParameter:
    """A sentinel for an option that every group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()

_step_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
_step_post_hooks: OrderedDict[int, Hook] = OrderedDict()
"""Hooks after a step of any optimizer."""


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Register ``hook(optimizer, args, kwargs)``, which runs before every step of every optimizer."""
    return RemovableHandle(_step_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Register ``hook(optimizer, args, kwargs)``, which runs after every step of every optimizer."""
    return RemovableHandle(_step_post_hooks, hook)


def use_grad_for_differentiable(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a step that creates no Nodes unless the optimizer is differentiable."""

    @functools.wraps(step)
    def stepping(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(self.defaults["differentiable"])
        try:
            return step(self, *args, **kwargs)
        finally:
            torch.set_grad_enabled(before)

    return stepping


class Optimizer(StateDictMixin):
    """Base class of all optimizers; ``params`` are parameters, pairs with names, or dicts with options of their own.

    Raise TypeError for anything but parameters, ValueError for none, for duplicates and for non-leaf tensors.
    """

    param_groups: list[dict[str, Any]]
    state: defaultdict[Any, Any]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._optimizer_step_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
        self._optimizer_step_post_hooks: OrderedDict[int, Hook] = OrderedDict()
        self._make_hooks()
        self._patch_step_function()
        if isinstance(params, torch.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{torch.typename(params)}"
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for index, group in enumerate(self.param_groups):
            lines += [""] * (index > 0)
            lines.append(f"Parameter Group {index}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    # -- steps --------------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; a closure computes the loss again. Subclasses define it."""
        raise NotImplementedError

    def _optimizer_step_code(self) -> None:
        """Mark the step's code for profilers."""

    @staticmethod
    def profile_hook_step(step: Callable[..., Any]) -> Callable[..., Any]:
        """Return the step with its hooks, under its name in profiles."""

        @functools.wraps(step)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self = args[0]
            name = type(self).__name__
            with torch.autograd.profiler.record_function(f"Optimizer.step#{name}.step"):
                for hook in [*_step_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()]:
                    given = hook(self, args, kwargs)
                    if given is None:
                        continue
                    if not isinstance(given, tuple) or len(given) != 2:
                        raise RuntimeError(
                            f"{step} must return None or a tuple of (new_args, new_kwargs), but got {given}."
                        )
                    args, kwargs = given
                result = step(*args, **kwargs)
                self._optimizer_step_code()
                for hook in [*self._optimizer_step_post_hooks.values(), *_step_post_hooks.values()]:
                    hook(self, args, kwargs)
                return result

        return wrapper

    def _patch_step_function(self) -> None:
        """Wrap the step, once for every class."""
        kind: Any = type(self)
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{kind.__name__}.zero_grad"
        if not getattr(kind.step, "hooked", None):
            kind.step = self.profile_hook_step(kind.step)
            kind.step.hooked = True

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Register ``hook(optimizer, args, kwargs)``, which runs before every step."""
        return RemovableHandle(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Register ``hook(optimizer, args, kwargs)``, which runs after every step."""
        return RemovableHandle(self._optimizer_step_post_hooks, hook)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients or fill them with zeros, one by one, or all of a device and dtype at once."""
        together = self.defaults.get("foreach", False) or self.defaults.get("fused", False)
        lists: dict[Any, dict[Any, list[Any]]] = defaultdict(lambda: defaultdict(list))
        with torch.autograd.profiler.record_function(self._zero_grad_profile_name):
            for parameter in self._parameters():
                gradient = parameter.grad
                if gradient is None:
                    continue
                if set_to_none:
                    parameter.grad = None
                    continue
                if gradient.grad_fn is not None:
                    gradient.detach_()
                else:
                    gradient.requires_grad_(False)
                if together:
                    lists[gradient.device][gradient.dtype].append(gradient)
                else:
                    gradient.zero_()
            for by_dtype in lists.values():
                for gradients in by_dtype.values():
                    torch._foreach_zero_(gradients)

    def _parameters(self) -> Iterator[Any]:
        for group in self.param_groups:
            yield from group["params"]

    # -- groups -------------------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: Any) -> None:
        """Add a group. Options that it omits take the defaults. The errors are those of the class."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _unpack_parameters(param_group)
        for parameter in param_group["params"]:
            self._check_parameter(parameter)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        parameters = param_group["params"]
        if len(parameters) != len(set(parameters)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        self._check_against_others(param_group)
        self.param_groups.append(param_group)

    def _check_parameter(self, parameter: Any) -> None:
        if not isinstance(parameter, torch.Tensor):
            raise TypeError(
                f"optimizer can only optimize Tensors, but one of the params is {torch.typename(parameter)}"
            )
        if not self.defaults.get("differentiable", None) and not (parameter.is_leaf or parameter.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")

    def _check_against_others(self, param_group: dict[str, Any]) -> None:
        named = "param_names" in param_group
        for group in self.param_groups:
            if named != ("param_names" in group):
                which = "with names" if named else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{which} to the optimizer"
                )
        if not set(self._parameters()).isdisjoint(param_group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")


def _unpack_parameters(param_group: dict[str, Any]) -> None:
    """Replace the parameters by a list, and store the names of pairs beside it."""
    given = param_group["params"]
    if isinstance(given, torch.Tensor):
        given = [given]
    elif isinstance(given, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
            "will change between runs. Please use a list instead."
        )
    given = list(given)
    names = [pair[0] for pair in given if isinstance(pair, tuple)]
    param_group["params"] = [value[1] if isinstance(value, tuple) else value for value in given]
    if names and len(names) != len(given):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    if names:
        param_group["param_names"] = names
