"""The one seam between the machine and its trace: ``active`` is the recorder, or None.

The machine says what happens in single lines, with live objects::

    if recorder.active is not None:
        recorder.active.version_bumped(tensor, before)

and, where every call passes through, notes the facts itself: ``rec.note(("guard_left", ...))``. What a recorder does
with it is in ``machine_recorder.py``, what becomes of it in ``event_builder.py``; neither is loaded before a program
records.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dispatchviz.core.seam.process_modes import NO_MODE, Mode, process_modes

if TYPE_CHECKING:
    from dispatchviz.core.record.machine_recorder import Recorder
    from dispatchviz.core.record.note_types import Leave, LeaveUnlessOver

active: Recorder | None = None
"""The recorder that the machine tells; None also while a recorder listens to an installed PyTorch."""

listening: Recorder | None = None
"""The recorder of the process; at most one listens at a time."""

LEAVE: Leave = ("leave",)
"""The note that the innermost open event is over."""

LEAVE_UNLESS_OVER: LeaveUnlessOver = ("leave_unless_over",)
"""The note that a binding is over because of an error, if it is not over with its call."""

PLAIN = frozenset({int, float, bool, complex, str, type(None)})
"""Types whose values cannot change, and read the same later on: they may be noted as they are."""


formatting = False
"""A recorder is formatting a value: what printing a tensor takes is then no part of the program."""


_preparing: dict[str, object] = {}
"""Under one key, what stands for the recording that begins or goes on."""


@contextmanager
def only_recording() -> Iterator[None]:
    """Inside the block no other recording begins, in any thread. RuntimeError if there is one already.

    To be entered before anything is changed for a recorder.
    """
    own = object()
    if listening is not None or _preparing.setdefault("recording", own) is not own:
        raise RuntimeError(_NESTED)
    try:
        yield
    finally:
        _preparing.pop("recording", None)


_NESTED = "a recording is already running: stop it first (recordings do not nest)"


def start(recorder: Recorder) -> None:
    """Make a recorder the active one. RuntimeError if there is one already."""
    global active, listening
    if listening is not None:
        raise RuntimeError(_NESTED)
    recorder.begin()
    listening = recorder
    if recorder.hears_machine:
        active = recorder
    process_modes.set(Mode.RECORDING if recorder.hears_machine else Mode.LISTENING, True)


def stop(recorder: Recorder) -> None:
    """Make no recorder the active one; does nothing if ``recorder`` does not listen."""
    global active, listening
    if listening is recorder:
        recorder.end()
        active = listening = None
        process_modes.set(Mode.RECORDING if recorder.hears_machine else Mode.LISTENING, False)


@contextmanager
def paused() -> Iterator[None]:
    """Inside the block no recorder listens."""
    global active, listening
    before = active, listening
    active = listening = None
    process_modes.set(Mode.RECORDING, False)
    try:
        yield
    finally:
        active, listening = before
        process_modes.set(Mode.RECORDING, active is not None)


def recorder_changes() -> None:
    """Derive again what was derived for the active recorder, which emits its notes in another way from now on."""
    process_modes.refresh(Mode.RECORDING)


# -- threads -----------------------------------------------------------------------------------------------------------

_start = threading.Thread.start


def _recorded_start(self: threading.Thread) -> None:
    _thread_begins()
    _start(self)


def _thread_begins() -> None:
    """A thread starts; one that ``threading`` did not start is noticed when it first uses the machine."""
    if listening is not None:
        listening.distinguish_threads()


_STARTS = {
    NO_MODE: _start,
    Mode.RECORDING: _recorded_start,
    Mode.LISTENING: _recorded_start,
    Mode.RECORDING | Mode.LISTENING: _recorded_start,
}
process_modes.hot_function(threading.Thread, "start", _STARTS)
process_modes.when_changed(Mode.THREADS, _thread_begins)
