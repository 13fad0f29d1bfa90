"""The data of the comparison screen: both runs with their names, and the differences in order."""

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
"""The place of a row: the numbers of its enclosing rows, then its own number among its siblings. Places sort like
rows.
"""


@dataclass(frozen=True)
class Side:
    """One of the two runs."""

    title: str
    """The title above its column."""
    run: Run
    file: str = ""
    """The file of its trace, if there is one."""
    run_arguments: Sequence[str] = ()
    """The arguments of ``dispatchviz run`` that run it again; empty if nothing does."""
    whole: Trace | None = None
    """The full trace that the stepper opens if only a part of its steps is compared; ``steps`` maps each compared step
    to a step of this trace.
    """
    steps: Sequence[int] = ()

    def opened_at(self, step: int) -> tuple[Trace, int]:
        """The trace to open in the stepper for a step of the run, and the step there."""
        return (self.run.trace, step) if self.whole is None else (self.whole, self.steps[step])


@dataclass(frozen=True)
class TwoRuns:
    """A comparison with the details of the runs that its screen needs."""

    comparison: Comparison
    sides: tuple[Side, Side]
    name: str = ""
    """The name that distinguishes it from others on the same screen: ``no_grad``."""
    command: str = ""
    """The command that opens this comparison; empty if there is none."""
    by: Literal["diff", "check"] = "diff"
    """The command that created it."""
    _rows: dict[int, AlignedRows] = field(default_factory=dict, compare=False, repr=False)
    _orders: dict[int, list[tuple[Place, Divergence]]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def runs(self) -> tuple[Run, Run]:
        """Both runs, as subjects of sentences."""
        return self.sides[0].run, self.sides[1].run

    @cached_property
    def stops(self) -> tuple[Divergence, ...]:
        """The differences between the runs, in order, including the first difference in numbers."""
        found, number = self.comparison.divergences, self.comparison.numbers
        if number is None:
            return found
        stop = Divergence((self._line(0, number.first), self._line(1, number.second)), number)
        return (stop, *found) if self.comparison.numbers_first else (*found, stop)

    def aligned(self, level: int) -> AlignedRows:
        """The rows at a level of detail, including all differences."""
        known = self._rows.get(level)
        if known is None:
            known = self._rows[level] = AlignedRows(self.comparison, level, [_steps(stop) for stop in self.stops])
        return known

    def in_order(self, level: int) -> list[tuple[Place, Divergence]]:
        """The differences in the order of the rows, each with its place."""
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
