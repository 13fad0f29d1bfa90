"""The sequence number that a thread would give to its next Node (``at::sequence_number::peek``).

``torch.profiler`` writes it beside each call with an autograd key in grad mode, and uses it to find the call that made
a Node. No event reports it; it is the number of the thread's next Node.
"""

from __future__ import annotations

from bisect import bisect_right

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.outputs.perfetto.made_nodes import LARGEST
from dispatchviz.outputs.perfetto.threads import Threads


class SequenceNumbers:
    """The sequence numbers that each thread gave."""

    def __init__(self, trace: Trace, threads: Threads) -> None:
        self._ends = trace.ends
        self._all_seen = not is_live(trace.header) and not trace.header.only
        """True if every Node that was made is in the trace."""
        self._threads = threads
        self._steps: dict[int, list[int]] = {}
        self._given: dict[int, list[int]] = {}
        for step in trace.steps_of(ev.NodeCreated):
            made = trace[step]
            if isinstance(made, ev.NodeCreated) and not made.known and made.sequence_nr != LARGEST:
                row = threads.of_step[step]
                self._steps.setdefault(row, []).append(step)
                self._given.setdefault(row, []).append(made.sequence_nr)

    def peek(self, step: int) -> int | None:
        """Return the number as of a step, or None if the trace does not have it."""
        row = self._threads.of_step[step]
        steps, given = self._steps.get(row, []), self._given.get(row, [])
        place = bisect_right(steps, step)
        if place < len(steps) and (self._all_seen or steps[place] <= self._ends[step]):
            return given[place]
        if not self._all_seen:
            return None
        if place:
            return given[place - 1] + 1
        return 0 if row == 0 else None
