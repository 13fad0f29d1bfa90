"""What the screen of two runs compares: both with their names, and the places where they part, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.aligned_rows import AlignedRows
from dispatchviz.explain.comparison.difference_sentences import Run
from dispatchviz.explain.comparison.divergences import Comparison, Divergence

Place = tuple[int, ...]
"""Of a row the number among those beside it, behind those of the rows around it: ordered as rows are."""


@dataclass(frozen=True)
class Side:
    """One of the two."""

    title: str
    """The name above its column."""
    run: Run
    file: str = ""
    """Where its trace is kept, if it is."""
    run_arguments: Sequence[str] = ()
    """What runs it again, after ``dispatchviz run``; empty if nothing does."""
    whole: Trace | None = None
    """The trace that the stepper opens, if only a part of its steps is compared; ``steps`` has of each of those its
    step there."""
    steps: Sequence[int] = ()

    def opened_at(self, step: int) -> tuple[Trace, int]:
        """The trace that the stepper opens for a step of the run, and the step there."""
        return (self.run.trace, step) if self.whole is None else (self.whole, self.steps[step])


@dataclass(frozen=True)
class TwoRuns:
    """A comparison with what its screen needs to know of the runs."""

    comparison: Comparison
    sides: tuple[Side, Side]
    name: str = ""
    """What tells it from the others on the same screen: ``no_grad``."""
    command: str = ""
    """The command line that compares the same; empty if none does."""
    by: Literal["diff", "check"] = "diff"
    """The command that it is of."""
    _rows: dict[int, AlignedRows] = field(default_factory=dict, compare=False, repr=False)
    _orders: dict[int, list[tuple[Place, Divergence]]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def runs(self) -> tuple[Run, Run]:
        """Both, to be spoken of."""
        return self.sides[0].run, self.sides[1].run

    @cached_property
    def stops(self) -> tuple[Divergence, ...]:
        """The places where the runs part, the first one first; the first other number is one of them."""
        found, number = self.comparison.divergences, self.comparison.numbers
        if number is None:
            return found
        stop = Divergence((self._line(0, number.first), self._line(1, number.second)), number)
        return (stop, *found) if self.comparison.numbers_first else (*found, stop)

    def aligned(self, level: int) -> AlignedRows:
        """The rows at a level of detail, with those where the runs part."""
        known = self._rows.get(level)
        if known is None:
            known = self._rows[level] = AlignedRows(self.comparison, level, [_steps(stop) for stop in self.stops])
        return known

    def in_order(self, level: int) -> list[tuple[Place, Divergence]]:
        """Where the runs part in the order of the rows, with the place of each."""
        known = self._orders.get(level)
        if known is None:
            places = ((self.place(level, *_steps(stop)), stop) for stop in self.stops)
            known = self._orders[level] = sorted(places, key=lambda found: found[0])
        return known

    def place(self, level: int, first: int | None, second: int | None) -> Place:
        """The place of a step's row among all rows."""
        return tuple(number for number, _ in self.aligned(level).path(first, second))

    def _line(self, side: int, step: int | None) -> int | None:
        if step is None:
            return None
        line = self.runs[side].trace.columns.lines[step]
        return line if line >= 0 else None


def _steps(stop: Divergence) -> tuple[int | None, int | None]:
    return stop.main.first, stop.main.second
