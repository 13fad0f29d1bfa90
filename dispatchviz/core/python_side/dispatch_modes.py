"""The thread's stack of dispatch modes, and the guards that hide it (``c10/core/impl/TorchDispatchModeTLS.cpp``).

A mode is an object with ``__torch_dispatch__``. The mode that was pushed last sees a call first. While there is any
mode, the thread-local include set has the Python keys, so that every call gets to it.

Not here: calling a mode (``torch_dispatch.py``), the class that users derive from (``dispatchviz.torch``).
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.keys.key_set import python_ks
from dispatchviz.core.seam import recorder
from dispatchviz.core.thread.restoring_state import restores_state_at_exit
from dispatchviz.core.thread.thread_state import SavedState, thread


def push(mode: Any) -> None:
    """Push a mode. It is then the first to handle a call."""
    state = thread.state
    if not state.modes:
        state.included |= python_ks
    state.modes = (*state.modes, mode)


def pop() -> Any:
    """Pop the newest mode. Raise RuntimeError if there is none."""
    state = thread.state
    if not state.modes:
        raise RuntimeError("trying to pop from empty mode stack")
    mode, state.modes = state.modes[-1], state.modes[:-1]
    if not state.modes:
        state.included &= ~python_ks
    return mode


def mode_at(index: int) -> Any:
    """Return a mode by its index in the stack; the oldest is 0. Raise RuntimeError if there are fewer."""
    if index >= len(thread.state.modes):
        raise RuntimeError("Tried to get stack at idx that's too big")
    return thread.state.modes[index]


@restores_state_at_exit
class EnteredMode:
    """A mode while its ``with`` block runs. It is recorded as a guard, since it changes the include set."""

    __slots__ = ("_mode", "_saved_state")
    _saved_state: SavedState

    def __init__(self, mode: Any) -> None:
        self._mode = mode

    def __enter__(self) -> None:
        state = thread.state
        before = state.included
        push(self._mode)
        if recorder.active is not None:
            recorder.active.guard_entered(type(self._mode).__name__, before, state.excluded)

    def __exit__(self, *error: object) -> None:
        pop()
        if recorder.active is not None:
            recorder.active.guard_left(type(self._mode).__name__)


class StashTorchDispatchModeGuard:
    """A context manager that removes the newest mode from the stack while its handler runs. Calls inside get to the
    next mode.
    """

    __slots__ = ("_mode",)

    def __enter__(self) -> Any:
        state = thread.state
        before = state.included
        self._mode = pop()
        if recorder.active is not None:
            recorder.active.guard_entered(type(self).__name__, before, state.excluded)
        return self._mode

    def __exit__(self, *error: object) -> None:
        push(self._mode)
        self._mode = None
        if recorder.active is not None:
            recorder.active.guard_left(type(self).__name__)


class StashTorchDispatchStackGuard:
    """A context manager that removes all modes from the stack."""

    __slots__ = ("_modes",)

    def __enter__(self) -> None:
        state = thread.state
        before, self._modes = state.included, state.modes
        while state.modes:
            pop()
        if self._modes and recorder.active is not None:
            recorder.active.guard_entered(type(self).__name__, before, state.excluded)

    def __exit__(self, *error: object) -> None:
        for mode in self._modes:
            push(mode)
        if self._modes and recorder.active is not None:
            recorder.active.guard_left(type(self).__name__)
