"""The part of a program that is recorded, as far as its source shows it: lines, and iterations of loops.

Not here: how the source is instrumented for it (``instrumented_source.py``), the other conditions of ``--only``
(``core/record/event_filter.py``), how an installed PyTorch is watched only there (``live/looking.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dispatchviz.core.record.event_filter import Only

Loop = tuple[int, int]
"""The ``id`` of the frame in which a loop runs, and the loop's line."""
Wanted = tuple[tuple[int, int, int], ...]
"""The line of a loop (0: each loop that is inside no other loop), first and last iteration."""


class Gate:
    """The switch that instrumented source reads before it reports something, in a recording of a part."""

    __slots__ = ("open",)

    def __init__(self) -> None:
        self.open = False


class RecordedPart(NamedTuple):
    """The part of a source file to instrument."""

    gate: Gate | None = None
    """A gate that is open while events are recorded; None if all are."""
    lines: tuple[tuple[int, int], ...] = ()
    """First and last line of the lines at which the gate opens."""
    loops: frozenset[int] = frozenset()
    """The lines of the loops whose iterations are counted; 0 for all that are inside no other loop."""

    def counts(self, loop: int, is_outermost: bool) -> bool:
        """Return whether the iterations of a loop are counted."""
        return loop in self.loops or (is_outermost and 0 in self.loops)

    def opens_at(self, line: int) -> bool:
        """Return whether the gate opens at a line."""
        return any(first <= line <= last for first, last in self.lines)


def loops_of(only: Only | None) -> frozenset[int]:
    """Return the lines of the loops whose iterations are selected; 0 for all that are inside no other loop."""
    return frozenset() if only is None else frozenset(loop for loop, _, _ in only.iteration)


class Iterations:
    """The count of iterations. It reports when the first selected one begins and when the last one ends."""

    def __init__(self, wanted: Wanted, changed: Callable[[bool], None]) -> None:
        self._wanted, self._changed = wanted, changed
        self._lines = frozenset(loop for loop, _, _ in wanted if loop)
        self._outermost: Loop | None = None
        self._counts: dict[Loop, int] = {}
        self._inside: set[Loop] = set()
        self.most: dict[int, int] = {}
        """The number of iterations of each counted loop, by its line: the largest one if it ran several times."""

    @property
    def inside(self) -> bool:
        """True while a selected iteration runs."""
        return bool(self._inside)

    def begins(self, loop: Loop) -> None:
        """Count an iteration that begins."""
        if self._outermost is None:
            self._outermost = loop
        if loop != self._outermost and loop[1] not in self._lines:
            return
        count = self._counts[loop] = self._counts.get(loop, 0) + 1
        self.most[loop[1]] = max(count, self.most.get(loop[1], 0))
        named = {loop[1], 0} if loop == self._outermost else {loop[1]}
        self._set(loop, any(first <= count <= last for line, first, last in self._wanted if line in named))

    def over(self, loop: Loop) -> None:
        """Forget a loop that has ended."""
        self._counts.pop(loop, None)
        self._set(loop, False)
        if loop == self._outermost:
            self._outermost = None

    def _set(self, loop: Loop, inside: bool) -> None:
        before = self.inside
        (self._inside.add if inside else self._inside.discard)(loop)
        if self.inside != before:
            self._changed(self.inside)
