"""Helpers that drive the stepper, the home screen and the comparison screen, and read them as plain text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot

from dispatchviz.cli.looked_up import look_up
from dispatchviz.core.record.events import ProgramRaised
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.difference_sentences import Run
from dispatchviz.explain.comparison.divergences import compare
from dispatchviz.explain.outline.levels import ALL
from dispatchviz.foundation.shipped_examples import examples
from dispatchviz.tui.app import StepperApp
from dispatchviz.tui.commands.moves import move
from dispatchviz.tui.comparison.comparison_app import ComparisonApp
from dispatchviz.tui.comparison.comparison_state import Compared
from dispatchviz.tui.comparison.comparison_state import opened as opened_runs
from dispatchviz.tui.comparison.two_runs import Side, TwoRuns
from dispatchviz.tui.home.home_app import HomeApp
from dispatchviz.tui.home.home_list import QUESTIONS, Home, program_entries
from dispatchviz.tui.home.kept_trace import facts_of, trace_entry
from dispatchviz.views.session import Session
from tests.waiting import HANGS

SIZES = [(80, 24), (100, 30), (120, 40), (200, 60)]


class Reader:
    """A reader who presses keys and reads the screen."""

    def __init__(self, app: StepperApp, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def press_at_once(self, text: str) -> None:
        """Press keys faster than the stepper can handle them: all are sent before the first one has an effect."""
        for character in text:
            key = "enter" if character == "\n" else _character_to_key(character)
            self.app.post_message(events.Key(key, None if character == "\n" else character))
        await self.answered()

    async def answered(self) -> None:
        """Wait until every key that was sent has had its effect."""
        done = asyncio.Event()
        self.app.call_later(done.set)
        await done.wait()
        await self.pilot.pause()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds. Raise TimeoutError if it never does."""
        async with asyncio.timeout(HANGS):
            while not holds():
                await self.pilot.pause()

    async def move(self, how: str) -> None:
        """Take a step as its key does, but without waiting for the keyboard."""
        self.app.show(move(self.app.session, how))
        await self.pilot._wait_for_screen()

    @property
    def at(self) -> int:
        return self.app.session.cursor.at

    @property
    def screen(self) -> list[str]:
        """The rows of the terminal, one string each."""
        return [strip.text for strip in self.app.screen._compositor.render_strips()]

    @property
    def text(self) -> str:
        return "\n".join(self.screen)

    def sees(self, *words: str) -> bool:
        return all(word in self.text for word in words)


@asynccontextmanager
async def stepper(
    trace: Trace, size: tuple[int, int] = (120, 40), step: int | None = None, level: int = ALL
) -> AsyncIterator[Reader]:
    """Open the stepper on a trace with every step listed, at the first step unless the program raised an error. Tests
    of the tree pass a level.
    """
    begin = 0 if step is None and level == ALL and not isinstance(trace[-1], ProgramRaised) else step
    async with stepper_of(Session(trace, begin, level=level), size) as reader:
        yield reader


@asynccontextmanager
async def stepper_of(session: Session, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Reader]:
    """Open the stepper on an existing session."""
    async with opened(StepperApp(session), size) as reader:
        yield reader


@asynccontextmanager
async def opened(app: Any, size: tuple[int, int]) -> AsyncIterator[Reader]:
    """Open a screen, and wait until it handles keys, since its first screen appears in parts."""
    async with app.run_test(size=size) as pilot:
        reader = Reader(app, pilot)
        while app.view.prompt is None:
            await pilot.pause()
        await reader.answered()
        yield reader


def home_with(*traces: Path) -> Home:
    """The initial home screen, with some stored traces."""
    kept = tuple(entry for path in traces if (entry := trace_entry(path)))
    return Home(program_entries(examples()), kept, QUESTIONS).goto(0)


@asynccontextmanager
async def home(*traces: Path, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Reader]:
    """Open the home screen."""

    def look_again() -> tuple:
        return tuple(entry for path in traces if (entry := trace_entry(path, facts_of(path))))

    async with opened(HomeApp(home_with(*traces), look_up, look_again), size) as reader:
        yield reader


def two_runs(first: Trace, second: Trace, name: str = "") -> TwoRuns:
    """Two runs with the names A and B."""
    sides = Side("a.py", Run(first, "in A")), Side("b.py", Run(second, "in B"))
    return TwoRuns(compare(first, second), sides, name, "dispatchviz diff a.py b.py")


def state_of(first: Trace, second: Trace) -> Compared:
    """The initial state of the comparison screen."""
    return opened_runs(Compared((two_runs(first, second),)))


@asynccontextmanager
async def comparison(choices: Sequence[TwoRuns], size: tuple[int, int] = (80, 24)) -> AsyncIterator[Reader]:
    """Open the comparison screen."""
    async with opened(ComparisonApp(opened_runs(Compared(tuple(choices)))), size) as reader:
        yield reader
