"""``torch.overrides``: functions and modes around ``__torch_function__`` (``torch/overrides.py``).

NB: PyTorch's module also has lists of all functions that can be overridden.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from dispatchviz.core.bindings import torch_function
from dispatchviz.core.python_side.python_fallback import RestorePythonTLSSnapshot
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import thread

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "wrap_torch_function",
]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether a mode or one of the values overrides a call."""
    return torch_function.mode_enabled() or bool(torch_function.overloaded_args(relevant_args))


def has_torch_function_unary(relevant_arg: Any) -> bool:
    """Return whether a mode or the value overrides a call."""
    return has_torch_function((relevant_arg,))


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """Return whether a mode or one of the values overrides a call."""
    return has_torch_function(relevant_args)


def handle_torch_function(public_api: Any, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Call the ``__torch_function__`` of the arguments. Raise TypeError if all return NotImplemented."""
    overloaded = torch_function.overloaded_args(relevant_args, plain=True)
    result = torch_function.handle_torch_function(public_api, overloaded, args, kwargs)
    if result is not NotImplemented:
        return result
    message = (
        f"no implementation found for '{public_api.__module__}.{public_api.__name__}' on types that implement "
        f"__torch_function__: {[type(arg) for arg in overloaded]}"
    )
    if torch_function.mode_enabled():
        message += f" nor in mode {_get_current_function_mode()}"
    raise TypeError(message)


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Let calls inside ``__torch_dispatch__`` begin again at the keys of the outermost call. Raise RuntimeError
    elsewhere.
    """
    with RestorePythonTLSSnapshot():
        yield


def is_tensor_like(inp: Any) -> bool:
    """Return whether the value is a Tensor or has ``__torch_function__``."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function that can be overridden by the arguments that ``dispatcher`` returns."""

    def inner(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return inner


# -- for the model's own functions -------------------------------------------------------------------------------------


def overridable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function overridable by ``__torch_function__``. Parameters with a default are passed by name."""
    return _overridable(function, by_name=False)


def overridable_by_name(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function overridable, with all parameters passed by name, as the initializers do."""
    return _overridable(function, by_name=True)


def _overridable(function: Callable[..., Any], by_name: bool) -> Callable[..., Any]:
    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        state = thread.state
        if state.function_modes or _any_overrides(args) or _any_overrides(kwargs.values()):
            relevant = [*args, *kwargs.values()]
            if has_torch_function(relevant):
                given, named = _by_signature(function, by_name, args, kwargs)
                return handle_torch_function(checked, relevant, *given, **named)
        return function(*args, **kwargs)

    return checked


def _any_overrides(values: Iterable[Any]) -> bool:
    return any(type(value) is not Tensor and torch_function.overrides(type(value)) for value in values)


def _by_signature(
    function: Callable[..., Any], by_name: bool, args: Any, kwargs: Any
) -> tuple[list[Any], dict[str, Any]]:
    signature = inspect.signature(function)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    given: list[Any] = []
    named: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        if by_name or parameter.default is not parameter.empty:
            named[name] = bound.arguments[name]
        else:
            given.append(bound.arguments[name])
    return given, named


# -- modes ------------------------------------------------------------------------------------------------------------


class TorchFunctionMode:
    """Base class of modes that intercept every function of ``torch`` called inside ``with mode:``.

    Subclasses define ``__torch_function__(self, func, types, args=(), kwargs=None)``. The mode does not intercept the
    calls that it makes itself.
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        _push_mode(self)
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        _pop_mode()


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> Any:
    return thread.state.function_modes[-1] if thread.state.function_modes else None


def _get_current_function_mode_stack() -> list[Any]:
    return list(thread.state.function_modes)


def _push_mode(mode: Any) -> None:
    torch_function.push_mode(mode)


def _pop_mode() -> Any:
    return torch_function.pop_mode()


@contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    with torch_function.popped_mode() as mode:
        yield mode
