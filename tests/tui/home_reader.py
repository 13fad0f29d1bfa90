"""Driving the home screen in a test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from dispatchviz.cli.looked_up import look_up
from dispatchviz.foundation.shipped_examples import examples
from dispatchviz.tui.home.home_app import HomeApp
from dispatchviz.tui.home.home_list import QUESTIONS, Home, program_entries
from dispatchviz.tui.home.home_replies import Chosen
from dispatchviz.tui.home.kept_trace import facts_of, trace_entry

from .screens import Reader


def home_with(*traces: Path) -> Home:
    """The home screen as it opens, with these traces kept."""
    kept = tuple(entry for path in traces if (entry := trace_entry(path)))
    return Home(program_entries(examples()), kept, QUESTIONS).goto(0)


async def began(reader: Reader) -> None:
    """Waits until keys are answered."""
    while reader.app.view.prompt is None:
        await reader.pilot.pause()
    await reader.answered()


def read_home(
    story: Callable[[Reader], Awaitable[None]],
    *traces: Path,
    size: tuple[int, int] = (80, 24),
    home: Home | None = None,
) -> Chosen | None:
    """Opens it and lets ``story`` use it; gives what was chosen in the end."""

    async def run() -> Chosen | None:
        def look_again() -> tuple:
            return tuple(entry for path in traces if (entry := trace_entry(path, facts_of(path))))

        app = HomeApp(home or home_with(*traces), look_up, look_again)
        async with app.run_test(size=size) as pilot:
            reader = Reader(app, pilot)
            await began(reader)
            await story(reader)
        return app.return_value

    return asyncio.run(run())
