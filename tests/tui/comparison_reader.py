"""Driving the screen of two runs in a test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from dispatchviz.explain.comparison.difference_sentences import Run
from dispatchviz.explain.comparison.divergences import compare
from dispatchviz.trace import Trace
from dispatchviz.tui.comparison.comparison_actions import Opened
from dispatchviz.tui.comparison.comparison_app import ComparisonApp
from dispatchviz.tui.comparison.comparison_state import Compared, opened
from dispatchviz.tui.comparison.two_runs import Side, TwoRuns

from .home_reader import began
from .screens import Reader


def two_runs(first: Trace, second: Trace, name: str = "") -> TwoRuns:
    """Two runs that are called A and B."""
    sides = Side("a.py", Run(first, "in A")), Side("b.py", Run(second, "in B"))
    return TwoRuns(compare(first, second), sides, name, "dispatchviz diff a.py b.py")


def state_of(first: Trace, second: Trace) -> Compared:
    """The screen as it opens."""
    return opened(Compared((two_runs(first, second),)))


def read_comparison(
    choices: Sequence[TwoRuns], story: Callable[[Reader], Awaitable[None]], size: tuple[int, int] = (80, 24)
) -> Opened | None:
    """Opens it and lets ``story`` use it; gives what was chosen in the end."""

    async def run() -> Opened | None:
        app = ComparisonApp(opened(Compared(tuple(choices))))
        async with app.run_test(size=size) as pilot:
            reader = Reader(app, pilot)  # type: ignore[arg-type]
            await began(reader)
            await story(reader)
        return app.return_value

    return asyncio.run(run())
