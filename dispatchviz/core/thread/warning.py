"""Warnings of PyTorch's C++ code (``c10/util/Exception.h``, ``torch/csrc/Exceptions.h``).

A warning goes to the handler of warnings on this thread. That is Python's ``warnings`` inside of functions that pass
errors to Python (bindings, attributes, ``as_python``), and stderr everywhere else (``torch.ops``).
"""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType

from dispatchviz.core.seam import recorder
from dispatchviz.core.thread.thread_state import thread

_warned: set[str] = set()
"""Texts of warnings that are issued once per process."""


BUILT_IN = "/__w/pytorch/pytorch/"
"""The folder in which PyTorch's wheels for the CPU were compiled. It precedes locations in the source tree."""

_always = False


class _Thread(threading.local):
    to_python = False


_thread = _Thread()


@contextmanager
def as_python() -> Iterator[None]:
    """Pass warnings to Python in the block (``HANDLE_TH_ERRORS``)."""
    before, _thread.to_python = _thread.to_python, True
    try:
        yield
    finally:
        _thread.to_python = before


@contextmanager
def reset_warnings() -> Iterator[None]:
    """Run the block as if no warning had been issued yet, with ``set_warn_always`` off."""
    before, always = set(_warned), _always
    _warned.clear()
    set_warn_always(False)
    try:
        yield
    finally:
        _warned.clear()
        _warned.update(before)
        set_warn_always(always)


def set_warn_always(always: bool) -> None:
    """Set whether ``TORCH_WARN_ONCE`` warns each time (``torch.set_warn_always``). Raise RuntimeError unless it is a
    bool.
    """
    global _always
    if not isinstance(always, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(always).__name__}")
    _always = always


def is_warn_always_enabled() -> bool:
    """Return whether ``TORCH_WARN_ONCE`` warns each time (``torch.is_warn_always_enabled``)."""
    return _always


def warn_once(kind: str, text: str, location: str) -> None:
    """Warn with ``text`` unless a warning of its kind was issued before (``TORCH_WARN_ONCE``).

    ``location`` is PyTorch's: FILE:LINE in its source tree.
    """
    if first_time(kind):
        warn(text, location)


def warn_python_once(kind: str, text: str, location: str) -> None:
    """Warn as ``TORCH_WARN_ONCE`` does inside of a call from Python."""
    if first_time(kind):
        warn_python(text, location)


def first_time(kind: str) -> bool:
    """Return whether a ``TORCH_WARN_ONCE`` of this kind must warn now. With ``set_warn_always`` it always must."""
    if _always:
        return True
    first = kind not in _warned
    _warned.add(kind)
    return first


def warn(text: str, location: str) -> None:
    """Warn as ``TORCH_WARN`` does."""
    if _thread.to_python or _within_a_binding():
        warn_python(text, location)
        return
    if recorder.active is not None:
        recorder.active.warned("", text, location.rpartition(":")[0] or location, 0)
    nanoseconds = time.time_ns()
    now = time.strftime("%m%d %H:%M:%S", time.localtime(nanoseconds // 10**9))
    stamp = f"W{now}.{nanoseconds % 10**9:09} {os.path.basename(location)}"
    print(f"[{stamp}] Warning: {text} (function operator())", file=sys.stderr)


def _within_a_binding() -> bool:
    """Return whether an outer frame is a function that handles warnings."""
    frame = sys._getframe(1).f_back
    while frame is not None and not frame.f_globals.get("__name__", "").startswith(_HANDLING):
        frame = frame.f_back
    return frame is not None


def warn_python(text: str, location: str) -> None:
    """Warn as ``TORCH_WARN`` does inside of a call from Python."""
    issue(f"{text} (Triggered internally at {BUILT_IN}{location}.)")


def issue(text: str) -> None:
    """Issue a UserWarning for the line of the caller.

    Warnings of backward itself, but not of a user's function that it calls, are issued when backward is over
    (``DelayWarningHandler``).
    """
    level, frame = 1, sys._getframe(1)
    nameless = _COMPILED_IN_PYTORCH[0]  # functions that are compiled from a text have no module
    while frame.f_back is not None and frame.f_globals.get("__name__", nameless).startswith(_COMPILED_IN_PYTORCH):
        if frame.f_code is _delaying:
            assert thread.state.graph_task is not None, "the engine is running"
            thread.state.graph_task.warnings.append(text)
            return
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level + 1)


_delaying: CodeType | None = None


def delay_within(function: Callable[..., object]) -> None:
    """Let the graph task delay the warnings issued below this function of the engine."""
    global _delaying
    _delaying = function.__code__


_COMPILED_IN_PYTORCH = (
    *("dispatchviz.core", "dispatchviz.torch._C", "dispatchviz.torch.indexing", "dispatchviz.torch.tensor_properties"),
    *("dispatchviz.torch.tensor_new", "dispatchviz.torch.as_tensor", "dispatchviz.torch.infer_scalar_type"),
    *("dispatchviz.torch.legacy_constructors", "contextlib"),
)
_HANDLING = (
    *("dispatchviz.core.bindings.binding", "dispatchviz.torch.indexing"),
    *("dispatchviz.torch.tensor_properties", "dispatchviz.torch.tensor_methods"),
)
