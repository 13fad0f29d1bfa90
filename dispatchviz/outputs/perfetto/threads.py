"""Which thread each step of a trace is of: PyTorch's profiler has a row of slices for each.

The thread of the program is the first. An engine's thread is known by its name (``pt_autograd_0``). A line is of
another thread if the program's own top level did not call its function, or if it goes on while others have begun since.
The Nodes that it makes say of which one; a line that makes none is in the row that became free last.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import NONE

MAIN, UNKNOWN = 1, 0
"""What PyTorch calls the program's thread, and what it calls none."""

CALLER = ("", "caller")
"""What ``NodeStarted.thread`` says of the thread that called backward."""


class Threads:
    """The rows of a trace's slices."""

    def __init__(self, trace: Trace) -> None:
        self.names = ["the program's thread"]
        """Of each row."""
        self.numbers = [MAIN]
        """Of each row what PyTorch calls its thread, as far as the Nodes tell."""
        self._ends = [-1]
        """The last step of the line that was put into each row last."""
        self.of_step = array("i", bytes(4 * len(trace)))
        """Of each step, its row."""
        self._within: dict[int, int] = {}
        """Of a step, the row that the next one within it is in, if that is not its own."""
        self._fill(trace)

    def _fill(self, trace: Trace) -> None:
        parents, ends, rows = trace.columns.parents, trace.ends, self.of_step
        lines = set(trace.steps_of(ev.SourceLine))
        elsewhere, makers = _lines_elsewhere(trace), _makers(trace)
        turns = set(trace.steps_of(ev.NodeStarted, ev.BackwardFinished))
        for step in range(len(trace)):
            parent = parents[step]
            if parent == NONE:
                rows[step] = self._of_line(step, ends[step], step in elsewhere, makers) if step in lines else 0
            elif step in turns:
                rows[step] = self._turn(trace[step], rows[parent])
            else:
                rows[step] = self._within.get(parent, rows[parent])

    def _of_line(self, step: int, end: int, elsewhere: bool, makers: Mapping[int, int]) -> int:
        """The row of its thread, or one in which no line goes on."""
        number = makers.get(step, UNKNOWN)
        free = [row for row in range(1 if elsewhere else 0, len(self._ends)) if self._ends[row] < step]
        own = [row for row in free if self.numbers[row] == number != UNKNOWN]
        unknown = [row for row in free if UNKNOWN in (number, self.numbers[row])]
        if not own and not elsewhere and 0 in free:
            own = [0]
        row = max(own or unknown, key=self._ends.__getitem__, default=len(self.names))
        if row == len(self.names):
            self._add(f"another thread ({row})", NONE)
        if number != UNKNOWN and self.numbers[row] == UNKNOWN:
            self.numbers[row] = number
        self._ends[row] = end
        return row

    def _add(self, name: str, end: int) -> None:
        self.names.append(name)
        self.numbers.append(UNKNOWN)
        self._ends.append(end)

    def _turn(self, event: ev.AnyEvent, outer: int) -> int:
        """What the engine does from here on is of the thread that runs this Node."""
        name = event.thread if isinstance(event, ev.NodeStarted) else ""
        row = outer if name in CALLER else self._named(name)
        if event.parent is not None:
            self._within[event.parent] = row
        return row

    def _named(self, name: str) -> int:
        if name not in self.names:
            self._add(name, 1 << 31)
        return self.names.index(name)


def _lines_elsewhere(trace: Trace) -> set[int]:
    """The lines of functions that a thread began with, and of what these call. Of a part of a program, which need not
    begin at its top level, it is not known."""
    columns, steps = trace.columns, trace.steps_of(ev.SourceLine)
    found = set[int]()
    for step, place, caller in zip(steps, columns.places, columns.callers, strict=False):  # whatever a file says
        known = place < len(columns.line_places)
        if caller in found or (caller == NONE and known and columns.line_places[place].function):
            found.add(step)
    return set() if steps and steps[0] in found else found


def _makers(trace: Trace) -> dict[int, int]:
    """Of lines in which a Node was made, the thread that made it."""
    found = dict[int, int]()
    for step in trace.steps_of(ev.NodeCreated):
        made, line = trace[step], step
        while trace.columns.parents[line] != NONE:
            line = trace.columns.parents[line]
        if isinstance(made, ev.NodeCreated) and not made.known:
            found.setdefault(line, made.thread)
    return found
