"""The end of the stepper without a key: by a signal or by a bug of ours.

Either way the terminal is restored, and the exit status shows the cause: the signal's status, or ``FAILED``. Nothing is
printed here. The caller reports what happened, and where the trace is.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dispatchviz.foundation.errors import DispatchvizError, EndedBySignal

FAILED = 70
"""The exit status after a bug of ours: EX_SOFTWARE of ``sysexits.h``."""

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name))


class StepperError(DispatchvizError):
    """The error that the stepper or the home screen failed because of a bug of ours."""

    status = FAILED


@contextmanager
def ended_by_signals(end: Callable[[], None]) -> Iterator[None]:
    """Call ``end`` to close the screen when a signal requests the end. Raise EndedBySignal once it is closed."""
    received: list[int] = []

    def handle(number: int, frame: object) -> None:
        received.append(number)
        end()

    ignored = (signal.SIG_IGN, None)  # None: a handler that is not from Python; SIG_IGN: by `nohup`
    before = {number: found for number in SIGNALS if (found := signal.getsignal(number)) not in ignored}
    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        raise EndedBySignal(received[0])


def failure(error: BaseException, report: str, what_failed: str) -> StepperError:
    """Create the error for a bug of ours, with the part that failed, the exception, and the file of the full report."""
    text = f"{what_failed}: {type(error).__name__}: {error}"
    return StepperError(f"{_cut(text)} (a bug in dispatchviz; the report is in {_kept(report)})")


LONGEST = 300
"""The maximum number of characters of the message; the report has all of it."""


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _kept(report: str) -> str:
    """Write the report to a file and return its path."""
    try:
        number, path = tempfile.mkstemp(prefix="dispatchviz-failure-", suffix=".txt")
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(report)
    except OSError as error:
        return f"no file: {error.strerror}"
    return path
