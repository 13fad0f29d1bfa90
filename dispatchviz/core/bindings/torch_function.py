"""``__torch_function__``: overrides of functions of ``torch`` by subclasses and modes.

This module mirrors ``torch/csrc/utils/python_arg_parser.cpp`` (``handle_torch_function``) and
``disable_torch_function.cpp``. An overloaded argument has a ``__torch_function__`` that is not the disabled one: a
subclass of Tensor, another class, a mode.

Not here: the arguments that bindings pass (``binding.py``), ``torch.overrides`` (``dispatchviz.torch``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dispatchviz.core.seam.process_modes import Mode, process_modes
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.tensor.tensor_meta import disabled_torch_function_impl
from dispatchviz.core.thread.guards import ALL_DISABLED, ENABLED
from dispatchviz.core.thread.thread_state import thread

_NEVER = frozenset((Tensor, int, float, complex, bool, str, type(None), list, tuple, dict))
"""Frequent types that have no ``__torch_function__``."""


def overrides(kind: type) -> bool:
    """Return whether a class overrides ``__torch_function__``."""
    if kind in _NEVER:
        return False
    found = getattr(kind, "__torch_function__", None)
    return found is not None and found is not disabled_torch_function_impl


def overloaded_args(values: Iterable[Any], plain: bool = False) -> list[Any]:
    """The overloaded arguments: the first one of every type with ``__torch_function__``, a subclass before its bases.

    With ``plain``, plain tensors count too.
    """
    if thread.state.torch_function != ENABLED:
        return []
    found: list[Any] = []
    for value in values:
        kind = type(value)
        if not (overrides(kind) or (plain and kind is Tensor)) or any(type(other) is kind for other in found):
            continue
        index = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
        found.insert(index, value)
    return found


def flattened(args: Iterable[Any], kwargs: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the arguments, including those inside lists."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def mode_enabled() -> bool:
    """Return whether a TorchFunctionMode handles the next call."""
    return bool(thread.state.function_modes) and thread.state.torch_function != ALL_DISABLED


@contextmanager
def popped_mode() -> Iterator[Any]:
    """Remove the newest mode from the stack while its handler runs."""
    state = thread.state
    mode, state.function_modes = state.function_modes[-1], state.function_modes[:-1]
    try:
        yield mode
    finally:
        state.function_modes = (*state.function_modes, mode)


def push_mode(mode: Any) -> None:
    """Push a TorchFunctionMode. It is then the first to handle a call."""
    process_modes.enter(Mode.FUNCTION_MODES)  # first, so that an exception from outside leaves the mode on, never off
    thread.state.function_modes = (*thread.state.function_modes, mode)


def pop_mode() -> Any:
    """Pop the newest TorchFunctionMode. Raise RuntimeError if there is none."""
    state = thread.state
    if not state.function_modes:
        raise RuntimeError("trying to pop from empty mode stack")
    mode, state.function_modes = state.function_modes[-1], state.function_modes[:-1]
    process_modes.leave(Mode.FUNCTION_MODES)
    return mode


def handle_torch_function(
    function: Callable[..., Any], overloaded: list[Any], args: Any, kwargs: Mapping[str, Any]
) -> Any:
    """Return the result of ``__torch_function__``, asking the newest mode first, or NotImplemented if every handler
    returns that.
    """
    types = tuple(type(argument) for argument in overloaded)
    if mode_enabled():
        with popped_mode() as mode:
            result = mode.__torch_function__(function, types, args, dict(kwargs))
        if result is not NotImplemented:
            return result
    for argument in overloaded:
        result = argument.__torch_function__(function, types, args, dict(kwargs))
        if result is not NotImplemented:
            return result
    return NotImplemented


def multiple_dispatch_failed(name: str, overloaded: list[Any]) -> TypeError:
    """The TypeError to raise when every ``__torch_function__`` returned NotImplemented."""
    lines = "".join(f"  - tensor subclass {type(value)}\n" for value in overloaded)
    return TypeError(
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n\n{lines}\n"
        "For more information, try re-running with TORCH_LOGS=not_implemented"
    )
