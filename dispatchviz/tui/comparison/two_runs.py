"""What the screen of two runs compares: both with their names, and the places where they part, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from dispatchviz.explain.comparison.aligned_rows import AlignedRows, Pair
from dispatchviz.explain.comparison.difference_sentences import Run
from dispatchviz.explain.comparison.divergences import Comparison, Divergence, Lines


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


@dataclass(frozen=True)
class TwoRuns:
    """A comparison with what its screen needs to know of the runs."""

    comparison: Comparison
    sides: tuple[Side, Side]
    name: str = ""
    """What tells it from the others on the same screen: ``no_grad``."""
    command: str = ""
    """The command line that compares the same; empty if none does."""
    _rows: dict[int, AlignedRows] = field(default_factory=dict, compare=False, repr=False)

    @property
    def runs(self) -> tuple[Run, Run]:
        """Both, to be spoken of."""
        return self.sides[0].run, self.sides[1].run

    @cached_property
    def stops(self) -> tuple[Divergence, ...]:
        """The places where the runs part, in the order of happening; the first other number is one."""
        found, number = list(self.comparison.divergences), self.comparison.numbers
        if number is not None:
            lines = [self._line(side, step) for side, step in enumerate((number.first, number.second))]
            stop = Divergence((lines[0], lines[1]), number)
            at = 0 if self.comparison.numbers_first else len(found)
            while at > 0 and is_after(found[at - 1].main.first, found[at - 1].main.second, *_steps(stop)):
                at -= 1
            found.insert(at, stop)
        return tuple(found)

    def aligned(self, level: int) -> AlignedRows:
        """The rows at a level of detail, with those where the runs part."""
        known = self._rows.get(level)
        if known is None:
            known = self._rows[level] = AlignedRows(self.comparison, level, [_steps(stop) for stop in self.stops])
        return known

    def is_beyond(self, stop: Divergence, pair: Pair) -> bool | None:
        """Whether a stop comes after a row (False: before it); None if it is that row."""
        steps = _steps(stop)
        if steps == (pair.first, pair.second):
            return None
        if any(a is not None and b is not None for a, b in zip(steps, (pair.first, pair.second), strict=True)):
            return is_after(*steps, pair.first, pair.second)
        return is_after(*stop.lines, *self._lines(pair))

    def _lines(self, pair: Pair) -> Lines:
        return self._line(0, pair.first), self._line(1, pair.second)

    def _line(self, side: int, step: int | None) -> int | None:
        if step is None:
            return None
        line = self.runs[side].trace.columns.lines[step]
        return line if line >= 0 else None


def _steps(stop: Divergence) -> tuple[int | None, int | None]:
    return stop.main.first, stop.main.second


def is_after(first: int | None, second: int | None, other_first: int | None, other_second: int | None) -> bool:
    """Whether two steps of the runs come after two others, by the first run in which both are there."""
    for one, other in ((first, other_first), (second, other_second)):
        if one is not None and other is not None and one != other:
            return one > other
    return False
