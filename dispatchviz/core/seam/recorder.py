"""The one seam between the machine and its trace: ``active`` is the recorder that listens, or None.

The machine says what happens in single lines, with live objects::

    if recorder.active is not None:
        recorder.active.version_bumped(tensor, before)

and, where every call passes through, notes the facts itself: ``rec.note(("guard_left", ...))``. What a recorder does
with it is in ``notes.py``, what becomes of it in ``transcript.py``; neither is loaded before somebody records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dispatchviz.core.record.notes import Recorder

active: Recorder | None = None
"""The recorder of the process; at most one listens at a time."""

LEAVE = ("leave",)
"""The note that the innermost open event is over."""

LEAVE_UNLESS_OVER = ("leave_unless_over",)
"""The note that a binding is over because of an error, if it is not over with its call."""

PLAIN = frozenset({int, float, bool, complex, str, type(None)})
"""Types whose values cannot change, and read the same later on: they may be noted as they are."""


wording = False
"""A recorder is putting a value into words: what printing a tensor takes is then no part of the program."""

when_listening_changes: list[Callable[[], None]] = []
"""Called when a recorder begins or ceases to listen: who keeps something that depends on it forgets that."""


def while_listening(owner: type, **methods: Callable[..., Any]) -> None:
    """Methods that take the place of a class's own while a recorder listens.

    For what every call passes through: its own methods then need not ask whether anybody does.
    """
    own = {name: vars(owner)[name] for name in methods}

    def choose() -> None:
        for name, method in (own if active is None else methods).items():
            setattr(owner, name, method)

    when_listening_changes.append(choose)


def start(recorder: Recorder) -> None:
    """Begins listening. RuntimeError if another recorder already does."""
    global active
    if active is not None:
        raise RuntimeError("a recording is already running: stop it first (recordings do not nest)")
    recorder.begin()
    active = recorder
    listening_changes()


def stop(recorder: Recorder) -> None:
    """Ends listening; harmless if it is not the one that listens."""
    global active
    if active is recorder:
        active = None
        listening_changes()


@contextmanager
def paused() -> Iterator[None]:
    """Inside, nobody listens."""
    global active
    before, active = active, None
    listening_changes()
    try:
        yield
    finally:
        active = before
        listening_changes()


def listening_changes() -> None:
    """Lets everybody know."""
    for forget in when_listening_changes:
        forget()
