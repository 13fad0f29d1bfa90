"""Hooks of all modules at once (``register_module_*`` of ``torch/nn/modules/module.py``)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from types import ModuleType
from typing import Any

from dispatchviz.core.autograd.hooks.hooks import RemovableHandle

Hook = Callable[..., Any]

_MIXED = (
    "Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
    "Please use only one of them."
)


class _GlobalHooks:
    """Hooks of each kind by handle id."""

    def __init__(self) -> None:
        self.buffer_registration: OrderedDict[int, Hook] = OrderedDict()
        self.module_registration: OrderedDict[int, Hook] = OrderedDict()
        self.parameter_registration: OrderedDict[int, Hook] = OrderedDict()
        self.backward_pre: OrderedDict[int, Hook] = OrderedDict()
        self.backward: OrderedDict[int, Hook] = OrderedDict()
        self.is_full_backward_hook: bool | None = None
        self.forward_pre: OrderedDict[int, Hook] = OrderedDict()
        self.forward: OrderedDict[int, Hook] = OrderedDict()
        self.forward_always_called: OrderedDict[int, bool] = OrderedDict()
        self.forward_with_kwargs: OrderedDict[int, bool] = OrderedDict()

    def has_forward_or_backward_hooks(self) -> bool:
        """Return whether calls of modules must look for hooks."""
        return bool(self.backward_pre or self.backward or self.forward or self.forward_pre)


hooks = _GlobalHooks()
"""The hooks of the process."""


class HooksModule(ModuleType):
    """The class of ``torch.nn.modules.module``. Programs read and reset the hooks by its names ``_global_*``."""


def _attribute(kind: str) -> property:
    return property(lambda self: getattr(hooks, kind), lambda self, value: setattr(hooks, kind, value))


_NAMES = {
    "forward_always_called": "forward_hooks_always_called",
    "forward_with_kwargs": "forward_hooks_with_kwargs",
    "is_full_backward_hook": "is_full_backward_hook",
}
"""The names that do not end in ``_hooks``."""

for _kind in vars(hooks):
    setattr(HooksModule, f"_global_{_NAMES.get(_kind, f'{_kind}_hooks')}", _attribute(_kind))


def _registered(kind: OrderedDict[int, Hook], hook: Hook) -> RemovableHandle:
    return RemovableHandle(kind, hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Register ``hook(module, name, buffer)``, which runs before a buffer is registered and may return another."""
    return _registered(hooks.buffer_registration, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Register ``hook(module, name, submodule)``, which runs before a module is registered and may return another."""
    return _registered(hooks.module_registration, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Register ``hook(module, name, parameter)``, which runs before a parameter is registered and may return
    another.
    """
    return _registered(hooks.parameter_registration, hook)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Register ``hook(module, args)``, which runs before every forward of every module."""
    return _registered(hooks.forward_pre, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Register ``hook(module, args, output)``, which runs after every forward of every module."""
    handle = RemovableHandle(hooks.forward, hook, extra_dict=hooks.forward_always_called)
    if with_kwargs:
        hooks.forward_with_kwargs[handle.id] = True
    if always_call:
        hooks.forward_always_called[handle.id] = True
    return handle


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Register ``hook(module, grad_output)``, which runs before the gradients of any module's inputs are computed."""
    return _registered(hooks.backward_pre, hook)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Register a hook of the old kind, on the grad_fn of outputs. Raise RuntimeError if there are full ones."""
    if hooks.is_full_backward_hook is True:
        raise RuntimeError(_MIXED)
    hooks.is_full_backward_hook = False
    return _registered(hooks.backward, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Register ``hook(module, grad_input, grad_output)``, which runs when both are computed. Raise RuntimeError if
    there are old ones.
    """
    if hooks.is_full_backward_hook is False:
        raise RuntimeError(_MIXED)
    hooks.is_full_backward_hook = True
    return _registered(hooks.backward, hook)
