"""A recorder that reads from Python, at each event, the current line of each function of the package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dispatchviz
from dispatchviz.running.program_recorder import ProgramRecorder
from dispatchviz.trace import Trace

PACKAGE = f"{Path(dispatchviz.__file__).parent}/"

Stood = list[tuple[str, int, int]]
"""File relative to the package, first line and current line of each running function, innermost first."""


class Standing(ProgramRecorder):
    """A recorder that knows the lines of the machine's functions at each event."""

    def __init__(self) -> None:
        super().__init__()
        self.stood: list[Stood] = []

    def begin(self) -> None:
        super().begin()
        self._listen()

    def distinguish_threads(self) -> None:
        super().distinguish_threads()
        self._listen()

    def _listen(self) -> None:
        note = self.note

        def noted(facts: tuple[Any, ...]) -> None:
            note(facts)
            stood = _standing()
            self.builder.read(self.notes)
            self.stood += [stood] * (len(self.builder.events) - len(self.stood))

        self.note = noted


def _standing() -> Stood:
    found, frame = [], sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(PACKAGE):
            found.append((code.co_filename.removeprefix(PACKAGE), code.co_firstlineno, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    return found


def recorded(monkeypatch: Any, run: Callable[[], object]) -> tuple[Trace, list[Stood]]:
    """Return the trace of a function, and the machine's lines at each event."""
    made = []

    def recorder() -> Standing:
        made.append(Standing())
        return made[-1]

    monkeypatch.setattr("dispatchviz.running.recording.ProgramRecorder", recorder)
    with dispatchviz.record() as trace:
        run()
    assert made[-1].failed is None
    return trace, made[-1].stood
