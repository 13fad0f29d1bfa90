"""The calls that got a tensor as an argument.

No column of a trace has them, so all calls are read once, in slices that fit between two keystrokes. The result is kept
for as long as the trace lives. A redispatch is part of its call and does not count.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.stored_events import some_events

SLICE = 500
"""The number of calls in a slice, which takes a few milliseconds to read."""


class Use(NamedTuple):
    """A call that got a tensor."""

    call: int
    """The step of its Dispatched event."""
    operator: str
    parameters: tuple[str, ...]
    """The parameters that the tensor was passed for."""


class Uses:
    """The calls of a trace by their tensors. It holds no reference to the trace itself."""

    def __init__(self, trace: Trace) -> None:
        self._events, self._columns = trace.events, trace.columns
        self._steps = trace.steps_of(ev.KeySetComputed)
        self._seen = 0
        self._found: dict[int, array[int]] = {}
        """The steps at which the key sets of calls with a tensor were computed, by tensor."""

    @property
    def complete(self) -> bool:
        """True if every call has been read."""
        return self._seen >= len(self._steps)

    @property
    def percent(self) -> int:
        return 100 * self._seen // max(len(self._steps), 1)

    def go_on(self, most: int = SLICE) -> None:
        """Read some more calls."""
        steps = self._steps[self._seen : self._seen + most]
        for step, event in zip(steps, some_events(self._events, steps), strict=True):
            if isinstance(event, ev.KeySetComputed):  # false if the file is damaged there
                for tensor in {tensor for _, tensor, _ in event.arguments}:
                    self._found.setdefault(tensor, array("i")).append(step)
        self._seen = min(self._seen + most, len(self._steps))

    def finish(self) -> Uses:
        """Read all remaining calls."""
        self.go_on(len(self._steps))
        return self

    def calls(self, tensor: int, after: int = -1) -> list[int]:
        """Return the steps of the calls read so far that got a tensor after a step, without nested calls that got it
        too.
        """
        found, end = list[int](), after
        for step in self._found.get(tensor, ()):
            call = self._columns.parents[step]
            if call > end:
                found.append(call)
                end = self._columns.ends[call]
        return found

    def use(self, call: int, tensor: int) -> Use | None:
        """Return the parameters for which a call got a tensor, or None if the file is damaged there."""
        event, computed = self._events[call], self._events[self._computed(call, tensor)]
        if not isinstance(event, ev.Dispatched) or not isinstance(computed, ev.KeySetComputed):
            return None
        return Use(call, event.operator, tuple(name for name, number, _ in computed.arguments if number == tensor))

    def _computed(self, call: int, tensor: int) -> int:
        steps: Sequence[int] = self._found[tensor]
        place = bisect_right(steps, call)
        return steps[place] if place < len(steps) else call  # in case the file is damaged


_uses: WeakKeyDictionary[Trace, Uses] = WeakKeyDictionary()


def uses(trace: Trace) -> Uses:
    """Return the uses of a trace's tensors, created on first use."""
    found = _uses.get(trace)
    if found is None:
        found = _uses[trace] = Uses(trace)
    return found
