"""``Module.state_dict`` and ``load_state_dict``: a module's tensors as a dictionary and back."""

from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Iterator, Mapping
from typing import Any

from dispatchviz.core.autograd.hooks.hooks import RemovableHandle
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn.modules.global_hooks import Hook
from dispatchviz.torch.nn.modules.module_call import WrappedHook
from dispatchviz.torch.nn.parameter import is_lazy

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"
_UNREACHABLE = (
    "Reached a code path in Module.{}() that should never be called. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
)
_POSITIONAL = (
    "Positional args are being deprecated, use kwargs instead. Refer to "
    "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details."
)


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The result of ``load_state_dict``."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class StateDictMixin:
    """The part of ``Module`` that saves and loads."""

    _buffers: dict[str, Any]
    _load_state_dict_post_hooks: Any
    _load_state_dict_pre_hooks: Any
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _parameters: dict[str, Any]
    _state_dict_hooks: Any
    _state_dict_pre_hooks: Any
    _version: int = 1

    # -- hooks --------------------------------------------------------------------------------------------------------

    def _register_state_dict_hook(self, hook: Any) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return RemovableHandle(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Register ``hook(module, state_dict, prefix, local_metadata)``, which runs after a module was saved."""
        hook._from_public_api = True
        return RemovableHandle(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Register ``hook(module, prefix, keep_vars)``, which runs before a module is saved."""
        return RemovableHandle(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook: Hook, with_module: bool = False) -> RemovableHandle:
        return RemovableHandle(self._load_state_dict_pre_hooks, WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Register ``hook(module, state_dict, prefix, ...)``, which runs before a module is loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Register ``hook(module, incompatible_keys)``, which runs after a module was loaded."""
        return RemovableHandle(self._load_state_dict_post_hooks, hook)

    def get_extra_state(self) -> Any:
        """Return a subclass's extra state for ``state_dict``. Raise RuntimeError unless overridden."""
        raise RuntimeError(_UNREACHABLE.format("get_extra_state"))

    def set_extra_state(self, state: Any) -> None:
        """Load the extra state. Raise RuntimeError unless overridden."""
        raise RuntimeError(_UNREACHABLE.format("set_extra_state"))

    # -- saving -------------------------------------------------------------------------------------------------------

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Return detached aliases of all parameters and persistent buffers, by dotted name."""
        if args:
            warnings.warn(_POSITIONAL, FutureWarning, stacklevel=2)
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return self._after_saving(destination, prefix, metadata)

    def _after_saving(self, destination: Any, prefix: str, metadata: dict[str, Any]) -> Any:
        for hook in self._state_dict_hooks.values():
            given = hook(self, destination, prefix, metadata)
            if given is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = given
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, value in self._saved():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not StateDictMixin.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _saved(self) -> Iterator[tuple[str, Any]]:
        """Yield own parameters and persistent buffers."""
        for name, value in itertools.chain(self._parameters.items(), self._buffers.items()):
            if value is not None and not (name in self._buffers and name in self._non_persistent_buffers_set):
                yield name, value

    # -- loading ------------------------------------------------------------------------------------------------------

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy values into parameters and buffers by their names, or assign them.

        Raise TypeError for anything but a mapping, RuntimeError for shapes that differ and, if strict, for names.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        loading = _Loading(getattr(state_dict, "_metadata", None), assign)
        given: Any = OrderedDict(state_dict)
        if loading.metadata is not None:
            given._metadata = loading.metadata
        loading.load(self, given, "")
        errors = loading.errors
        if strict:
            for kind, keys in (("Unexpected", loading.unexpected), ("Missing", loading.missing)):
                if keys:
                    errors.insert(0, f"{kind} key(s) in state_dict: " + ", ".join(f'"{key}"' for key in keys) + ". ")
        if errors:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        return _IncompatibleKeys(loading.missing, loading.unexpected)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own values. Subclasses may do more."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = dict(self._saved())
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, value in own.items():
            key = prefix + name
            if key in state_dict:
                error = _loaded(self, name, key, value, state_dict[key], assign)
                error_msgs += [error] if error else []
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not StateDictMixin.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            unexpected_keys += [key for key in state_dict if key != extra and self._is_unexpected(key, prefix, own)]

    def _is_unexpected(self, key: str, prefix: str, own: Mapping[str, Any]) -> bool:
        """Return whether a key belongs neither to this module nor to one below it."""
        if not key.startswith(prefix):
            return False
        name, below, _ = key.removeprefix(prefix).partition(".")
        return name not in (self._modules if below else own)


class _Loading:
    """One call of ``load_state_dict``."""

    def __init__(self, metadata: Any, assign: bool) -> None:
        self.metadata, self.assign = metadata, assign
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []

    def load(self, module: Any, state_dict: Mapping[str, Any], prefix: str) -> None:
        """Load a module and the modules below it, then run its hooks."""
        metadata = {} if self.metadata is None else self.metadata.get(prefix[:-1], {})
        if self.assign:
            metadata["assign_to_params_buffers"] = True
        module._load_from_state_dict(state_dict, prefix, metadata, True, self.missing, self.unexpected, self.errors)
        for name, child in module._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                self.load(child, {k: v for k, v in state_dict.items() if k.startswith(below)}, below)
        keys = _IncompatibleKeys(self.missing, self.unexpected)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace."
                )


def _loaded(module: Any, name: str, key: str, value: Any, given: Any, assign: bool) -> str:
    """Store one given value. Return the error message if it does not fit."""
    if not torch.overrides.is_tensor_like(given):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint '
            f"but received {type(given)}"
        )
    if not is_lazy(value) and len(value.shape) == 0 and len(given.shape) == 1 and given.shape[0] == 1:
        given = given[0]
    if given.shape != value.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in current "
            f"model is {value.shape}."
        )
    if value.is_meta and not given.is_meta and not assign:
        warnings.warn(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
            "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to "
            "their corresponding key in the module instead of copying them in place?)",
            stacklevel=5,
        )
    try:
        with torch.no_grad():
            if assign:
                _assign(module, name, value, given)
            else:
                value.copy_(given)
    except Exception as error:
        return (
            f'While copying the parameter named "{key}", whose dimensions in the model are {value.size()} and whose '
            f"dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}."
        )
    return ""


def _assign(module: Any, name: str, value: Any, given: Any) -> None:
    if isinstance(value, torch.nn.Parameter):
        if isinstance(given, torch.nn.Parameter):
            given.requires_grad_(value.requires_grad)
        else:
            given = torch.nn.Parameter(given, requires_grad=value.requires_grad)
    setattr(module, name, given)
