"""How the stepper ends when nobody pressed the key for it: by a signal, or by a mistake of ours.

Either way the terminal is as before, and the exit status tells it: the signal's, or ``FAILED``. Nothing is printed
here: who opened the stepper says what happened, and where the trace is.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dispatchviz.foundation.errors import DispatchvizError, EndedBySignal

FAILED = 70
"""The exit status after a mistake of ours: EX_SOFTWARE of ``sysexits.h``."""

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name))


class StepperError(DispatchvizError):
    """The stepper or the home screen failed, for no fault of the trace's or the reader's."""

    status = FAILED


@contextmanager
def ended_by_signals(end: Callable[[], None]) -> Iterator[None]:
    """Has ``end`` close the screen when a signal asks for the end, and raises EndedBySignal once it is closed."""
    received: list[int] = []

    def heard(number: int, frame: object) -> None:
        received.append(number)
        end()

    ignored = (signal.SIG_IGN, None)  # by `nohup`; by what is not Python
    before = {number: found for number in SIGNALS if (found := signal.getsignal(number)) not in ignored}
    for number in before:
        signal.signal(number, heard)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        raise EndedBySignal(received[0])


def failure(error: BaseException, report: str, what_failed: str) -> StepperError:
    """The error for a mistake of ours: what failed and where, what was raised, and where the whole report is."""
    text = f"{what_failed}: {type(error).__name__}: {error}"
    return StepperError(f"{_cut(text)} (a bug in dispatchviz; the report is in {_kept(report)})")


LONGEST = 300
"""Characters of a message; the report has all of it."""


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _kept(report: str) -> str:
    """The file with a report."""
    try:
        number, path = tempfile.mkstemp(prefix="dispatchviz-failure-", suffix=".txt")
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(report)
    except OSError as error:
        return f"no file: {error.strerror}"
    return path
