"""Driving the home screen in a test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from dispatchviz.cli.looked_up import look_up
from dispatchviz.foundation.shipped_examples import examples
from dispatchviz.tui.home.home_app import HomeApp
from dispatchviz.tui.home.home_list import QUESTIONS, Home, program_entries
from dispatchviz.tui.home.kept_trace import facts_of, trace_entry

from .screens import Reader, opened


def home_with(*traces: Path) -> Home:
    """The home screen as it opens, with these traces kept."""
    kept = tuple(entry for path in traces if (entry := trace_entry(path)))
    return Home(program_entries(examples()), kept, QUESTIONS).goto(0)


@asynccontextmanager
async def home(*traces: Path, size: tuple[int, int] = (80, 24), home: Home | None = None) -> AsyncIterator[Reader]:
    """Opens the home screen."""

    def look_again() -> tuple:
        return tuple(entry for path in traces if (entry := trace_entry(path, facts_of(path))))

    async with opened(HomeApp(home or home_with(*traces), look_up, look_again), size) as reader:
        yield reader
