"""``torch._C._autograd``: saved-tensor hooks (``torch/csrc/autograd/init.cpp``).

NB: in PyTorch, a SavedTensor cannot be created by a call, and hooks can be disabled for tracing
(``_saved_tensors_hooks_set_tracing``). PyTorch's module also has the profiler's names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.autograd.graph import saved_variable_hooks as hooks
from dispatchviz.core.autograd.graph.saved_variable import SavedVariable as SavedTensor
from dispatchviz.core.bindings.pybind import CONVERTERS, NoFit, bound
from dispatchviz.core.thread.thread_state import thread

__all__ = [
    "SavedTensor",
    "_pop_saved_tensors_default_hooks",
    "_push_saved_tensors_default_hooks",
    "_saved_tensors_hooks_disable",
    "_saved_tensors_hooks_enable",
    "_saved_tensors_hooks_get_disabled_error_message",
    "_saved_tensors_hooks_is_enabled",
    "_top_saved_tensors_default_hooks",
]


def _callable(value: Any) -> Callable[..., Any]:
    if not callable(value):
        raise NoFit
    return value  # type: ignore[no-any-return]


CONVERTERS["collections.abc.Callable"] = _callable


@bound("_push_saved_tensors_default_hooks(arg0: collections.abc.Callable, arg1: collections.abc.Callable) -> None")
def _push_saved_tensors_default_hooks(pack: Callable[..., Any], unpack: Callable[..., Any]) -> None:
    hooks.push_default_hooks(pack, unpack)


@bound("_pop_saved_tensors_default_hooks() -> None")
def _pop_saved_tensors_default_hooks() -> None:
    hooks.pop_default_hooks()


@bound(
    "_top_saved_tensors_default_hooks(arg0: bool) -> tuple[collections.abc.Callable, collections.abc.Callable] | None"
)
def _top_saved_tensors_default_hooks(ignore_is_tracing: bool) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    top = hooks.top_default_hooks()
    return None if top is None else (top.pack, top.unpack)


@bound("_saved_tensors_hooks_enable() -> None")
def _saved_tensors_hooks_enable() -> None:
    hooks.enable()


@bound("_saved_tensors_hooks_disable(error_message: str, fail_if_non_empty: bool = True) -> None")
def _saved_tensors_hooks_disable(error_message: str, fail_if_non_empty: bool = True) -> None:
    hooks.disable(error_message, fail_if_non_empty)


@bound("_saved_tensors_hooks_is_enabled() -> bool")
def _saved_tensors_hooks_is_enabled() -> bool:
    return thread.state.saved_tensors_hooks_disabled is None


@bound("_saved_tensors_hooks_get_disabled_error_message() -> str | None")
def _saved_tensors_hooks_get_disabled_error_message() -> str | None:
    return thread.state.saved_tensors_hooks_disabled


@bound(
    "register_hooks(self: torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, arg1: "
    "collections.abc.Callable) -> None"
)
def _register_hooks(self: SavedTensor, pack: Callable[..., Any], unpack: Callable[..., Any]) -> None:
    hooks.register_hooks(self, pack, unpack)


SavedTensor.register_hooks = _register_hooks  # type: ignore[attr-defined]
for _class in (SavedTensor, hooks.PackedVariable):
    _class.__name__, _class.__qualname__, _class.__module__ = "SavedTensor", "SavedTensor", "torch._C._autograd"
