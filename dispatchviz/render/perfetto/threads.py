"""Which thread each step of a trace is of: PyTorch's profiler has a row of slices for each.

The thread of the program is the first. An engine's thread is known by its name (``pt_autograd_0``); lines of the
program that go on while others have begun since are of another thread, each in the first row that is free.
"""

from __future__ import annotations

from array import array

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import NONE

CALLER = ("", "caller")
"""What ``NodeStarted.thread`` says of the thread that called backward."""


class Threads:
    """The rows of a trace's slices."""

    def __init__(self, trace: Trace) -> None:
        self.names = ["the program's thread"]
        """Of each row."""
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
        turns = set(trace.steps_of(ev.NodeStarted, ev.BackwardFinished))
        for step in range(len(trace)):
            parent = parents[step]
            if parent == NONE:
                rows[step] = self._free(step, ends[step]) if step in lines else 0
            elif step in turns:
                rows[step] = self._turn(trace[step], rows[parent])
            else:
                rows[step] = self._within.get(parent, rows[parent])

    def _free(self, step: int, end: int) -> int:
        """The first row in which no line goes on."""
        row = next((row for row, last in enumerate(self._ends) if last < step), len(self.names))
        if row == len(self.names):
            self.names.append(f"another thread ({row})")
            self._ends.append(NONE)
        self._ends[row] = end
        return row

    def _turn(self, event: ev.AnyEvent, outer: int) -> int:
        """What the engine does from here on is of the thread that runs this Node."""
        name = event.thread if isinstance(event, ev.NodeStarted) else ""
        row = outer if name in CALLER else self._named(name)
        if event.parent is not None:
            self._within[event.parent] = row
        return row

    def _named(self, name: str) -> int:
        if name not in self.names:
            self.names.append(name)
            self._ends.append(1 << 31)
        return self.names.index(name)
