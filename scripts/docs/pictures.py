"""The pictures of the tutorial: its screens, each opened with the keys that the tutorial names, and its graph."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from dispatchviz.cli.lesson_check import run_lesson
from dispatchviz.cli.recorded_values import SMALL
from dispatchviz.foundation.shipped_examples import examples
from dispatchviz.lessons.guide import Guide
from dispatchviz.lessons.lesson_file import read_lesson
from dispatchviz.running.program import run
from dispatchviz.trace import Trace
from dispatchviz.tui.app import StepperApp
from dispatchviz.tui.home.home_app import HomeApp
from dispatchviz.tui.home.home_list import QUESTIONS, Home, program_entries
from dispatchviz.tui.home.home_rows import FIRST
from dispatchviz.views.session import Session
from scripts.docs.page_runs import BLOCK, ROOT
from scripts.tour import without_fonts

FOLDER = ROOT / "docs" / "tutorial"
SIZE = (110, 34)


def home() -> str:
    """Return the screen that ``dispatchviz`` opens."""
    entries = Home(program_entries(examples()), (), QUESTIONS).goto(0).noted(FIRST)
    return _screen(HomeApp(entries, lambda *_: lambda _: [], lambda: ()), "dispatchviz")


def lesson() -> str:
    """Return the first lesson at its first question."""
    with contextlib.chdir(ROOT):
        first = read_lesson(Path("examples/lessons/forum.py"))
        trace = run_lesson(first).trace
    guide = Guide(first, trace)
    return _screen(StepperApp(Session(trace, guide.place.step, guide=guide)), "dispatchviz lesson forum", "c", "c")


def stepper() -> str:
    """Return the stepper with the tutorial's program at its first Node."""
    keys = ("right_square_bracket", "n")
    return _screen(StepperApp(Session(_own(), run_arguments=["mine.py"])), "dispatchviz run mine.py", *keys)


def graph() -> str:
    """Return the backward graph of that program."""
    return _own().backward_graph().svg()


PICTURES: dict[str, Callable[[], str]] = {"home": home, "lesson": lesson, "mine": stepper, "graph": graph}


def _own() -> Trace:
    """Return the trace of the program that the reader of the tutorial writes."""
    page = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    text = next(block["text"] for block in BLOCK.finditer(page) if block["name"] == "mine.py")
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("mine.py").write_text(text, "utf-8")
        return run("mine.py", (), io.StringIO(), **SMALL._asdict()).trace


def _screen(app: StepperApp | HomeApp, title: str, *keys: str) -> str:
    async def drive() -> str:
        async with app.run_test(size=SIZE) as pilot:
            while app.view.prompt is None:
                await pilot.pause()
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
            return app.export_screenshot(title=title)

    return without_fonts(asyncio.run(drive()))


def write() -> None:
    """Write all pictures."""
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state  # without the user's stored layouts
        for name, picture in PICTURES.items():
            (FOLDER / f"{name}.svg").write_text(picture(), "utf-8")
