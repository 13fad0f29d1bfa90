"""The one seam between the machine and its trace: ``active`` is the recorder, or None.

The machine reports events in single lines, with live objects::

    if recorder.active is not None:
        recorder.active.version_bumped(tensor, before)

Where every call passes through, it records the facts itself: ``rec.note(("guard_left", ...))``. ``machine_recorder.py``
has the recorder, and ``event_builder.py`` turns its notes into events. Neither is loaded before a program records.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from dispatchviz.core.seam.process_modes import NO_MODE, Mode, process_modes

if TYPE_CHECKING:
    from dispatchviz.core.record.machine_recorder import Recorder
    from dispatchviz.core.record.note_types import Leave, LeaveUnlessOver

active: Recorder | None = None
"""The recorder that the machine reports to. It is also None while a recorder listens to an installed PyTorch."""

listening: Recorder | None = None
"""The recorder of the process. At most one listens at a time."""

suspended: Recorder | None = None
"""The recorder that does not listen now, because the program runs a part that is not to be recorded."""

LEAVE: Leave = ("leave",)
"""The note that ends the innermost open event."""

LEAVE_UNLESS_OVER: LeaveUnlessOver = ("leave_unless_over",)
"""The note that ends a binding because of an error, unless the end of its call has ended it."""

PLAIN = frozenset({int, float, bool, complex, str, type(None)})
"""Types whose values are immutable and print the same later. They may be noted unchanged."""


formatting = False
"""True while a recorder formats a value. The operators that printing a tensor calls do not belong to the program
then.
"""


_preparing: dict[str, object] = {}
"""A dictionary with a single key, whose value identifies the recording that is starting or running."""


@contextmanager
def only_recording() -> Iterator[None]:
    """Prevent other recordings, in any thread, from starting in the block. Raise RuntimeError if one is running
    already.

    Enter it before changing anything for a recorder.
    """
    own = object()
    if (listening or suspended) is not None or _preparing.setdefault("recording", own) is not own:
        raise RuntimeError(_NESTED)
    try:
        yield
    finally:
        _preparing.pop("recording", None)


_NESTED = "a recording is already running: stop it first (recordings do not nest)"


def start(recorder: Recorder) -> None:
    """Make a recorder the active one. Raise RuntimeError if there is one already."""
    global active, listening
    if (listening or suspended) is not None:
        raise RuntimeError(_NESTED)
    recorder.begin()
    listening = recorder
    if recorder.hears_machine:
        active = recorder
    process_modes.set(Mode.RECORDING if recorder.hears_machine else Mode.LISTENING, True)
    if recorder.begins_suspended:
        suspend(recorder)


def stop(recorder: Recorder) -> None:
    """Make no recorder the active one. Do nothing if ``recorder`` does not listen."""
    global active, listening, suspended
    if suspended is recorder:
        listening, suspended = recorder, None
    if listening is recorder:
        recorder.end()
        active = listening = None
        process_modes.set(Mode.RECORDING if recorder.hears_machine else Mode.LISTENING, False)


def suspend(recorder: Recorder) -> None:
    """Let a recorder that does not hear the machine stop listening, until ``resume``. Do nothing if it has ended."""
    global listening, suspended
    if listening is recorder:
        listening, suspended = None, recorder


def resume(recorder: Recorder) -> bool:
    """Let a suspended recorder listen again. Return False if it has ended."""
    global listening, suspended
    if suspended is recorder:
        listening, suspended = recorder, None
    return listening is recorder


registrations = -1
"""The number of changes of registrations that the program made. PyTorch's own fallbacks are the first change."""


class Unread(Protocol):
    """A recording that has ended and whose notes are read when somebody needs its events."""

    def registrations_change(self) -> None:
        """Read the notes."""


unread: weakref.WeakSet[Unread] = weakref.WeakSet()
"""The recordings that have ended and whose notes are not read."""


def registrations_change() -> None:
    """Count a change of registrations, and let all recordings read their notes while they are valid. Call this before
    the change.
    """
    global registrations
    registrations += 1
    for each in [*unread]:
        each.registrations_change()
    if active is not None:
        active.registrations_change()


@contextmanager
def paused() -> Iterator[None]:
    """Pause the recorder in the block."""
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
    """Derive again what depends on the active recorder, which now emits its notes in another way."""
    process_modes.refresh(Mode.RECORDING)


# -- threads -----------------------------------------------------------------------------------------------------------

_start = threading.Thread.start


def _recorded_start(self: threading.Thread) -> None:
    _thread_begins()
    _start(self)


def _thread_begins() -> None:
    """Distinguish threads, since one starts. A thread that ``threading`` did not start is noticed when it first uses
    the machine.
    """
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
