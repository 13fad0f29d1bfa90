"""A recorder that compares each note with Python's own frames.

It reads ``sys._getframe`` and nothing that the recorder itself notes about lines.
"""

from __future__ import annotations

import ast
import functools
import os
import sys
from types import FrameType
from typing import Any, NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.explain.trace_index.enclosing_steps import user_stack
from dispatchviz.trace import Trace
from tests.watching_recorder import WatchingRecorder

Stack = tuple[tuple[str, int], ...]
"""Function and first line of its statement, for each frame of the program, outermost first."""
SMALL = ("<lambda>", "<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>")
NOT_COMPARED = {
    ev.SourceLine: "it is the line itself",
    ev.ProgramRaised: "the frames that the exception came through are gone",
}


class Difference(NamedTuple):
    """An event that was recorded under another line."""

    event: ev.AnyEvent
    recorded: Stack
    stood: Stack


class Watching(WatchingRecorder[Stack]):
    """A recorder that knows the program's frames at each event."""

    file = ""
    """The program's file."""
    _wrote: Stack = ()

    def _look(self, facts: tuple[Any, ...]) -> Stack:
        """Return the program's frames at a note. Text that is written belongs to the place where it was written."""
        stack = stack_of(sys._getframe(2), self.file)
        if facts[0] == "wrote":
            self._wrote = stack
        return stack

    def _seen(self, event: ev.AnyEvent, now: Stack) -> Stack:
        """Return the program's frames at an event."""
        return self._wrote if isinstance(event, ev.Printed) else now

    def differences(self, trace: Trace) -> list[Difference]:
        """Return the events that are under another line than Python's."""
        found = []
        for event, stood in zip(trace, self.stood, strict=False):
            if type(event) not in NOT_COMPARED and (recorded := recorded_stack(trace, event.seq, self.file)) != stood:
                found.append(Difference(event, recorded, stood))
        return found


def recorded_stack(trace: Trace, seq: int, file: str) -> Stack:
    """Return the line of a step and those that it was called from, as far as they are in the program, according to the
    trace.
    """
    name = os.path.basename(file)
    return tuple((line.function, line.line) for line in user_stack(trace, seq) if line.file.endswith(name))


def stack_of(frame: FrameType | None, file: str) -> Stack:
    found: list[tuple[str, int]] = []
    frames = []
    while frame is not None:
        if frame.f_code.co_filename == file:
            frames.append(frame)
        frame = frame.f_back
    for frame in frames[::-1]:
        name, line = frame.f_code.co_name, statement_at(file, frame.f_lineno)
        if not (name in SMALL and found and found[-1][1] == line):
            found.append((function_of(frame), line))
    return tuple(found)


def function_of(frame: FrameType) -> str:
    """Return the name of a frame's function, such as ``Net.forward``."""
    parts = [part for part in frame.f_code.co_qualname.split(".<locals>.") if not part.endswith("comp>")]
    return parts[-1].replace("<module>", "") if parts else ""


@functools.cache
def statement_at(file: str, line: int) -> int:
    """Return the first line of the statement (or of its head) that contains a line."""
    with open(file, encoding="utf-8") as stream:
        tree = ast.parse(stream.read())
    first = line
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None) or getattr(node, "cases", None)
            start = getattr(body[0], "pattern", body[0]).lineno if body else (node.end_lineno or 0) + 1
            if node.lineno <= line < max(start, node.lineno + 1):
                first = node.lineno
    return first
