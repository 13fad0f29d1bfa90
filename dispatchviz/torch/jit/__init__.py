"""``torch.jit`` as with ``PYTORCH_JIT=0``: Python runs, and functions that compile return their argument
(``torch/jit/__init__.py``, ``_script.py``, ``_trace.py``).

NB: nothing is compiled or traced, and a UserWarning says so. Scripted code calls the same operators as Python.
"""

from __future__ import annotations

import warnings
from typing import Any, Final, NamedTuple, TypeVar

from dispatchviz.torch.missing_names import stand_in as _stand_in
from dispatchviz.torch.nn.modules.module import Module

_T = TypeVar("_T")

__all__ = [
    "Attribute",
    "Final",
    "ScriptFunction",
    "ScriptModule",
    "annotate",
    "export",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "trace_module",
    "unused",
]


class ScriptModule(Module):
    """A Module. It is not compiled."""


class ScriptFunction:
    """The class of compiled functions. It has no instances."""


class Attribute(NamedTuple):
    """A value with its type, which compiled modules would keep."""

    value: Any
    type: Any


def _warn_deprecated(name: str) -> None:
    warnings.warn(
        f"`torch.jit.{name}` is deprecated. Please switch to `torch.compile` or `torch.export`.",
        DeprecationWarning,
        stacklevel=2,  # attributed to PyTorch's own file, which the default filters hide
    )


def _warn_uncompiled(name: str) -> None:
    warnings.warn(
        f"dispatchviz's model of PyTorch has no TorchScript, so the argument of torch.jit.{name} runs as Python, "
        "as in PyTorch with PYTORCH_JIT=0",
        stacklevel=3,
    )


@_stand_in
def script(obj: _T, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> _T:
    """Return the argument."""
    _warn_deprecated("script")
    _warn_uncompiled("script")
    return obj


@_stand_in
def trace(func: _T, example_inputs: Any = None, *args: Any, **kwargs: Any) -> _T:
    """Return the argument."""
    _warn_deprecated("trace")
    _warn_uncompiled("trace")
    return func


@_stand_in
def trace_module(mod: _T, inputs: Any, *args: Any, **kwargs: Any) -> _T:
    """Return the argument."""
    _warn_deprecated("trace_method")
    _warn_uncompiled("trace_module")
    return mod


def script_if_tracing(fn: _T) -> _T:
    """Return the argument: nothing is ever traced."""
    return fn


@_stand_in
def script_method(fn: _T) -> _T:
    """Return the argument."""
    _warn_deprecated("script_method")
    return fn


def export(fn: _T) -> _T:
    """Return the argument."""
    return fn


def interface(obj: _T) -> _T:
    """Return the argument. Raise RuntimeError unless it is a class."""
    if type(obj) is not type:
        raise RuntimeError("interface must be applied to a class")
    return obj


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Return the function; with other arguments, return a decorator that returns the function."""
    return drop if callable(drop) else _unchanged


def unused(fn: _T) -> _T:
    """Return the argument."""
    return fn


def _unchanged(fn: _T) -> _T:
    return fn


def is_scripting() -> bool:
    """Return False."""
    return False


def is_tracing() -> bool:
    """Return False."""
    return False


def annotate(the_type: Any, the_value: _T) -> _T:
    """Return the value."""
    return the_value
