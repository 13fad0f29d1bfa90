"""The comparison of a trace with an answer file, line by line, which ``dispatchviz check-log`` prints.

Consecutive lines must happen in order. For a line with others inside, every matching event is tried until one contains
them all; if none does, the one that contains most counts. Operators that are called to print a tensor do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from dispatchviz.core.record.events import AnyEvent
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.testing.events_of_kind import PrintedSteps
from dispatchviz.testing.expected_log import Line, every
from dispatchviz.testing.failures import STEP, lines, near, still, times
from dispatchviz.testing.known_names import check_name, check_names
from dispatchviz.testing.trace_text import TraceText


class Mark(Struct, frozen=True):
    """The result for one line."""

    line: Line
    holds: bool
    step: int | None = None
    """The step where the line holds, or where its failure shows; None if nowhere in particular."""
    why: str = ""
    """The reason if the line does not hold, in one or more lines of text."""


def marked(trace: Trace, expected: Sequence[Line], file: str) -> list[Mark]:
    """Return a mark for each line. Raise DispatchvizError, with the line of the file, for a name that does not
    exist.
    """
    quiet = still(trace)
    for line in every(expected):
        try:
            check_names(quiet, [line.pattern] if line.pattern else [])
            for kind, name in line.names:
                check_name(quiet, kind, name)
        except ValueError as error:
            raise DispatchvizError(f"{file}, line {line.number}: {error}") from None
    return list(_Marker(quiet, file).block(expected, 0, len(quiet), ""))


class _Marker:
    def __init__(self, trace: Trace, file: str) -> None:
        self._trace, self._file = trace, file
        self._printed = PrintedSteps(trace)

    def block(self, expected: Sequence[Line], begin: int, end: int, where: str) -> Iterator[Mark]:
        """Yield the marks of consecutive lines, within a range of steps."""
        after = begin
        for line in expected:
            if line.question:
                yield self._answered(line)
            elif line.bounds:
                yield self._counted(line, begin, end)
            else:
                marks = self._best(line, after, end, where)
                yield from marks
                after = max([after, *(step + 1 for step in map(_place, marks) if step is not None)])

    def _best(self, line: Line, after: int, end: int, where: str) -> list[Mark]:
        """Return the marks of a line and the lines inside it, for the first event that fulfills all, else the best."""
        best: list[Mark] = []
        for event in self._matching(line, after, end):
            inner = self.block(line.inner, event.seq + 1, self._trace.ends[event.seq] + 1, f"within step {event.seq}")
            marks = [Mark(line, True, event.seq), *inner]
            if sum(mark.holds for mark in marks) > sum(mark.holds for mark in best):
                best = marks
            if all(mark.holds for mark in marks):
                break
        return best or self._missing(line, after, end, where)

    def _missing(self, line: Line, after: int, end: int, where: str) -> list[Mark]:
        assert line.pattern is not None
        place = where or (f"after step {after - 1}" if after else "")
        text = f"does not happen {place}".rstrip() + f"; {near(self._trace, self._trace[after:end], line.pattern)}"
        why = f"line {line.number} does not happen"
        inner = [Mark(each, False, None, f"not checked: {why}") for each in every(line.inner)]
        return [Mark(line, False, after - 1 if after else None, text), *inner]

    def _counted(self, line: Line, begin: int, end: int) -> Mark:
        assert line.bounds is not None
        found = list(self._matching(line, begin, end))
        if line.bounds.hold(len(found)):
            return Mark(line, True)
        wrong = min(line.bounds.most or 0, len(found) - 1) if found else None
        rows = f"\n{lines(self._trace, found)}" if found else ""
        return Mark(line, False, None if wrong is None else found[wrong].seq, f"happens {times(len(found))}{rows}")

    def _matching(self, line: Line, begin: int, end: int) -> Iterator[AnyEvent]:
        pattern = line.pattern
        assert pattern is not None
        steps = self._trace.steps_of(pattern.kind)
        events = (self._trace[step] for step in steps if begin <= step < end and step not in self._printed)
        return (event for event in events if pattern.matches(event))

    def _answered(self, line: Line) -> Mark:
        assert line.question is not None
        try:
            got = line.question(self._trace)
            if got == line.answer:
                return Mark(line, True)
        except AssertionError as failure:
            return Mark(line, False, getattr(failure, STEP, None), str(failure))
        except ValueError as error:
            raise DispatchvizError(f"{self._file}, line {line.number}: {error}") from None
        if isinstance(got, TraceText):
            return Mark(line, False, got.step(line.answer), "\n".join(got.difference(line.answer)[1:]))
        return Mark(line, False, None, f"  expected  {line.answer}\n  got       {got}")


def _place(mark: Mark) -> int | None:
    """Return the step after which the next lines must happen; None if this line sets no such step."""
    return mark.step if mark.holds and mark.line.bounds is None else None
