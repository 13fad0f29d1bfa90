"""Saving and loading of optimizers (``torch/optim/optimizer.py``). Parameters become numbers, in their groups'
order.
"""

from __future__ import annotations

import copy
import itertools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from dispatchviz.core.autograd.hooks.hooks import RemovableHandle
from dispatchviz.torch._namespace import torch

Hook = Callable[..., Any]


def _registered(hooks: OrderedDict[int, Hook], hook: Hook, prepend: bool) -> RemovableHandle:
    handle = RemovableHandle(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


class StateDictMixin:
    """The part of ``Optimizer`` that saves and loads."""

    defaults: dict[str, Any]
    param_groups: list[dict[str, Any]]
    state: defaultdict[Any, Any]

    def _make_hooks(self) -> None:
        self._optimizer_state_dict_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
        self._optimizer_state_dict_post_hooks: OrderedDict[int, Hook] = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: OrderedDict[int, Hook] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.defaults.setdefault("differentiable", False)

    # -- saving -------------------------------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Register ``hook(optimizer)``, which runs before saving."""
        return _registered(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Register ``hook(optimizer, state_dict)``, which runs after saving and may return another dict."""
        return _registered(self._optimizer_state_dict_post_hooks, hook, prepend)

    def state_dict(self) -> Any:
        """Return ``state`` by parameter number, and ``param_groups`` with numbers for parameters."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        for parameter in itertools.chain.from_iterable(group["params"] for group in self.param_groups):
            numbers.setdefault(id(parameter), len(numbers))
        groups = [
            {**{key: value for key, value in group.items() if key != "params"}, "params": _numbered(group, numbers)}
            for group in self.param_groups
        ]
        state = {numbers[id(key)] if isinstance(key, torch.Tensor) else key: value for key, value in self.state.items()}
        saved: Any = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            given = hook(self, saved)
            saved = saved if given is None else given
        return saved

    # -- loading ------------------------------------------------------------------------------------------------------

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Register ``hook(optimizer, state_dict)``, which runs before loading and may return another dict."""
        return _registered(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Register ``hook(optimizer)``, which runs after loading."""
        return _registered(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def load_state_dict(self, state_dict: Any) -> None:
        """Load the options, and the state on the parameters' devices. Raise ValueError for other groups or sizes."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            given = hook(self, state_dict)
            state_dict = state_dict if given is None else given
        saved = copy.deepcopy(state_dict["param_groups"])
        by_number = self._by_number(saved)
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in by_number:
                parameter = by_number[key]
                state[parameter] = _cast(parameter, value, key, state_dict["param_groups"])
            else:
                state[key] = value
        for own, new in zip(self.param_groups, saved, strict=True):
            new["params"] = own["params"]
            if "param_names" in own and "param_names" not in new:
                new["param_names"] = own["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def _by_number(self, saved: list[dict[str, Any]]) -> dict[int, Any]:
        """Return the parameters by their saved numbers."""
        if len(self.param_groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(self.param_groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        numbers = itertools.chain.from_iterable(group["params"] for group in saved)
        own = itertools.chain.from_iterable(group["params"] for group in self.param_groups)
        return dict(zip(numbers, own, strict=True))


def _numbered(group: dict[str, Any], numbers: dict[int, int]) -> list[int]:
    return [numbers[id(parameter)] for parameter in group["params"]]


def _cast(parameter: Any, value: Any, number: int, groups: list[dict[str, Any]], key: Any = None) -> Any:
    """Return a state's tensors on the device and in the dtype that the parameter needs."""
    if isinstance(value, torch.Tensor):
        return _cast_tensor(parameter, value, number, groups, key)
    if isinstance(value, dict):
        return {name: _cast(parameter, part, number, groups, name) for name, part in value.items()}
    if isinstance(value, Iterable):
        kind: Any = type(value)
        return kind(_cast(parameter, part, number, groups) for part in value)
    return value


def _cast_tensor(parameter: Any, value: Any, number: int, groups: list[dict[str, Any]], key: Any) -> Any:
    group = next((group for group in groups if number in group["params"]), {})
    if key == "step":
        on_device = group.get("capturable", False) or group.get("fused", False)
        return value.to(dtype=torch.float32, device=parameter.device) if on_device else value
    if parameter.is_floating_point():
        return value.to(dtype=parameter.dtype, device=parameter.device)
    return value.to(device=parameter.device)
