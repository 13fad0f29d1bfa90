"""``torch.nn.Module`` (``torch/nn/modules/module.py``): attributes that are parameters, buffers and modules.

Other modules here have the other parts of a module: calls, iteration over members, conversion, saving.

NB: in PyTorch, all of this is one class; here ``Module.__mro__`` shows its parts.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from dispatchviz.core.autograd.hooks.hooks import RemovableHandle  # noqa: F401  (PyTorch's module has it too)
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn.modules.global_hooks import (
    Hook,
    HooksModule,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from dispatchviz.torch.nn.modules.global_hooks import hooks as everywhere
from dispatchviz.torch.nn.modules.module_apply import ApplyMixin
from dispatchviz.torch.nn.modules.module_call import CallMixin
from dispatchviz.torch.nn.modules.module_state_dict import StateDictMixin, _IncompatibleKeys  # noqa: F401  (PyTorch's module has it too)
from dispatchviz.torch.nn.modules.named_members import NamedMembersMixin, members_changed

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

_FRESH: dict[str, Callable[[], Any]] = {
    "training": lambda: True,
    "_parameters": dict,
    "_buffers": dict,
    "_non_persistent_buffers_set": set,
    "_backward_pre_hooks": OrderedDict,
    "_backward_hooks": OrderedDict,
    "_is_full_backward_hook": lambda: None,
    "_forward_hooks": OrderedDict,
    "_forward_hooks_with_kwargs": OrderedDict,
    "_forward_hooks_always_called": OrderedDict,
    "_forward_pre_hooks": OrderedDict,
    "_forward_pre_hooks_with_kwargs": OrderedDict,
    "_state_dict_hooks": OrderedDict,
    "_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_post_hooks": OrderedDict,
    "_modules": dict,
}
"""The entries that ``__init__`` puts into a module's ``__dict__``, in this order."""


def _forward_unimplemented(self: Any, *input: Any) -> None:
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Module(CallMixin, ApplyMixin, NamedMembersMixin, StateDictMixin):
    """Base class of all modules. Users write ``__init__`` and ``forward``."""

    dump_patches: bool = False
    call_super_init: bool = False
    training: bool
    forward: Callable[..., Any] = _forward_unimplemented

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        if not self.call_super_init and kwargs:
            raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if not self.call_super_init and args:
            raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        for attribute, new in _FRESH.items():
            object.__setattr__(self, attribute, new())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # -- registering --------------------------------------------------------------------------------------------------

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Register a tensor that is part of the module's state but not a parameter. Raise KeyError for a bad name,
        TypeError for anything but a tensor.
        """
        self._check_name("_buffers", "buffer", name)
        if tensor is not None and not _is_tensor_like(tensor):
            raise TypeError(
                f"cannot assign '{torch.typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = _after_hooks(everywhere.buffer_registration, self, name, tensor)
        members_changed(self)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Any) -> None:
        """Register a Parameter, or None in its place.

        Raise KeyError for a bad name, TypeError for anything but a Parameter, ValueError for one with a history.
        """
        self._check_name("_parameters", "parameter", name)
        if param is None:
            self._parameters[name] = None
            members_changed(self)
            return
        if not isinstance(param, torch.nn.Parameter):
            raise TypeError(
                f"cannot assign '{torch.typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param.grad_fn:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                f"To express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = _after_hooks(everywhere.parameter_registration, self, name, param)
        members_changed(self)

    def _check_name(self, space: str, kind: str, name: Any) -> None:
        """Raise AttributeError before ``__init__``, TypeError for anything but a string, KeyError for a bad name."""
        if space not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {torch.typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[space]:
            raise KeyError(f"attribute '{name}' already exists")

    def add_module(self, name: str, module: Any) -> None:
        """Add a submodule, or None in its place. Raise TypeError for anything but a module, KeyError for a bad name."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{torch.typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {torch.typename(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = _after_hooks(everywhere.module_registration, self, name, module)
        members_changed(self)

    def register_module(self, name: str, module: Any) -> None:
        """Run ``add_module``."""
        self.add_module(name, module)

    # -- attributes ---------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        for space in ("_parameters", "_buffers", "_modules"):
            if space in self.__dict__ and name in self.__dict__[space]:
                return self.__dict__[space][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, torch.nn.Parameter):
            if "_parameters" not in own:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, own, self._buffers, self._modules)
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            _check_none(value, f"parameter '{name}' (torch.nn.Parameter or None expected)")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in own:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, own, self._parameters, self._buffers)
            own["_modules"][name] = _after_hooks(everywhere.module_registration, self, name, value)
            members_changed(self)
        elif name in own.get("_modules", ()):
            _check_none(value, f"child module '{name}' (torch.nn.Module or None expected)")
            own["_modules"][name] = _after_hooks(everywhere.module_registration, self, name, value)
            members_changed(self)
        elif isinstance(value, torch.nn.Buffer) or name in own.get("_buffers", ()):
            self._set_buffer(name, value)
        else:
            super().__setattr__(name, value)

    def _forget(self, name: str, *spaces: dict[str, Any]) -> None:
        """Remove a name from parameters, buffers and modules, because it is being assigned again."""
        for space in spaces:
            space.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not _is_tensor_like(value):
            raise TypeError(
                f"cannot assign '{torch.typename(value)}' as buffer '{name}' "
                "(torch.nn.Buffer, torch.Tensor or None expected)"
            )
        persistent = (
            value.persistent if isinstance(value, torch.nn.Buffer) else name not in self._non_persistent_buffers_set
        )
        register: Any = self.register_buffer
        own = getattr(register, "__func__", None) is Module.register_buffer
        if own or "persistent" in inspect.signature(register).parameters:
            register(name, value, persistent)
        elif not persistent:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements register_buffer() without "
                "the persistent argument is not allowed."
            )
        else:
            register(name, value)

    def __delattr__(self, name: str) -> None:
        members_changed(self)
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    # -- training -----------------------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Any:
        """Set ``training`` for this module and all below. Raise ValueError for anything but a bool."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Any:
        """Run ``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Set ``requires_grad`` of all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        if getattr(self, "_is_replica", False):
            warnings.warn(
                "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The parameters are "
                "copied (in a differentiable manner) from the original module. This means they are not leaf nodes in "
                "autograd and so don't accumulate gradients. If you need gradients in your forward method, consider "
                "using autograd.grad instead.",
                stacklevel=2,
            )
        for parameter in self.parameters():
            if parameter.grad is not None:
                if set_to_none:
                    parameter.grad = None
                else:
                    _zero(parameter.grad)

    # -- printing -----------------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return the part of the repr that a subclass adds."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        own = extra.split("\n") if extra else []
        below = [f"({name}): {indented(repr(module), 2)}" for name, module in self._modules.items()]
        if not below and len(own) == 1:
            return f"{self._get_name()}({own[0]})"
        inside = "".join(f"\n  {line}" for line in [*own, *below])
        return f"{self._get_name()}({inside}\n)" if inside else f"{self._get_name()}()"

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[0].isdigit())


def indented(text: str, spaces: int, blank: bool = False) -> str:
    """Indent all lines but the first, blank ones only if requested."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line if blank or line.strip() else "" for line in rest)])


def _is_tensor_like(value: Any) -> bool:
    return isinstance(value, torch.Tensor) or hasattr(value, "__torch_function__")


def _check_none(value: Any, as_what: str) -> None:
    if value is not None:
        raise TypeError(f"cannot assign '{torch.typename(value)}' as {as_what}")


def _after_hooks(hooks: dict[int, Hook], module: Any, name: str, value: Any) -> Any:
    """Return a value after the registration hooks."""
    for hook in hooks.values():
        given = hook(module, name, value)
        value = value if given is None else given
    return value


def _zero(gradient: Any) -> None:
    if gradient.grad_fn is not None:
        gradient.detach_()
    else:
        gradient.requires_grad_(False)
    gradient.zero_()


def _named_as_one_class() -> None:
    """Name methods as ``Module``'s, wherever they are defined, for TypeErrors."""
    for part in (CallMixin, ApplyMixin, NamedMembersMixin, StateDictMixin):
        for name, value in vars(part).items():
            if inspect.isfunction(value) and value.__qualname__.startswith(part.__name__):
                value.__qualname__ = f"Module.{name}"


_named_as_one_class()


sys.modules[__name__].__class__ = HooksModule
