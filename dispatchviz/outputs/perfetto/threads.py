"""The thread of each step in a trace. PyTorch's profiler has a row of slices for each thread.

The program's thread is the first. An engine's thread is identified by its name (``pt_autograd_0``). A line belongs to
another thread if the program's own top level did not call its function, or if it continues while other lines have begun
since. The Nodes that a line makes identify its thread. A line that makes none goes to the row that became free last.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import NONE

MAIN, UNKNOWN = 1, 0
"""PyTorch's number of the program's thread, and a number for an unknown thread."""

CALLER = ("", "caller")
"""The values of ``NodeStarted.thread`` for the thread that called backward."""


class Threads:
    """The rows of a trace's slices."""

    def __init__(self, trace: Trace) -> None:
        self.names = ["the program's thread"]
        """The name of each row."""
        self.numbers = [MAIN]
        """PyTorch's number of each row's thread, as far as the Nodes report it."""
        self._ends = [-1]
        """For each row, the last step of the latest line in it."""
        self.of_step = array("i", bytes(4 * len(trace)))
        """The row of each step."""
        self._within: dict[int, int] = {}
        """For a step, the row of the next step inside it, if that is a different row."""
        self._fill(trace)

    def _fill(self, trace: Trace) -> None:
        parents, ends, rows = trace.columns.parents, trace.ends, self.of_step
        lines = set(trace.steps_of(ev.SourceLine))
        elsewhere, makers = _lines_elsewhere(trace), _makers(trace)
        switches = set(trace.steps_of(ev.NodeStarted, ev.BackwardFinished))
        for step in range(len(trace)):
            parent = parents[step]
            if parent == NONE:
                rows[step] = self._of_line(step, ends[step], step in elsewhere, makers) if step in lines else 0
            elif step in switches:
                rows[step] = self._engine_row(trace[step], rows[parent])
            else:
                rows[step] = self._within.get(parent, rows[parent])

    def _of_line(self, step: int, end: int, elsewhere: bool, makers: Mapping[int, int]) -> int:
        """Return the row of a line's thread, or a row in which no line continues."""
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

    def _engine_row(self, event: ev.AnyEvent, outer: int) -> int:
        """Return the row of the thread that runs a Node. Later steps of the engine belong to it too."""
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
    """Return the lines of functions that a thread began with, and the lines that they call.

    It is empty for a part of a program that does not begin at the top level, because then this is unknown.
    """
    columns, steps = trace.columns, trace.steps_of(ev.SourceLine)
    found = set[int]()
    for step, place, caller in zip(steps, columns.places, columns.callers, strict=False):  # a file may have any lengths
        known = place < len(columns.line_places)
        if caller in found or (caller == NONE and known and columns.line_places[place].function):
            found.add(step)
    return set() if steps and steps[0] in found else found


def _makers(trace: Trace) -> dict[int, int]:
    """Return the thread of each line in which a Node was made."""
    found = dict[int, int]()
    for step in trace.steps_of(ev.NodeCreated):
        made, line = trace[step], step
        while trace.columns.parents[line] != NONE:
            line = trace.columns.parents[line]
        if isinstance(made, ev.NodeCreated) and not made.known:
            found.setdefault(line, made.thread)
    return found
