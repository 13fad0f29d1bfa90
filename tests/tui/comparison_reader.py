"""Driving the screen of two runs in a test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from dispatchviz.explain.comparison.difference_sentences import Run
from dispatchviz.explain.comparison.divergences import compare
from dispatchviz.trace import Trace
from dispatchviz.tui.comparison.comparison_app import ComparisonApp
from dispatchviz.tui.comparison.comparison_state import Compared, opened
from dispatchviz.tui.comparison.two_runs import Side, TwoRuns

from . import screens
from .screens import Reader


def two_runs(first: Trace, second: Trace, name: str = "") -> TwoRuns:
    """Two runs that are called A and B."""
    sides = Side("a.py", Run(first, "in A")), Side("b.py", Run(second, "in B"))
    return TwoRuns(compare(first, second), sides, name, "dispatchviz diff a.py b.py")


def state_of(first: Trace, second: Trace) -> Compared:
    """The screen as it opens."""
    return opened(Compared((two_runs(first, second),)))


@asynccontextmanager
async def comparison(choices: Sequence[TwoRuns], size: tuple[int, int] = (80, 24)) -> AsyncIterator[Reader]:
    """Opens the screen of two runs."""
    async with screens.opened(ComparisonApp(opened(Compared(tuple(choices)))), size) as reader:
        yield reader
