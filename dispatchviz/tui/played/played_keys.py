"""Keys pressed in a stepper that nobody sees: its screen after each."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from rich.console import Console

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.app import StepperApp
from dispatchviz.views.session import Session


@dataclass(frozen=True)
class Screen:
    """What a terminal shows."""

    key: str
    """The key that led here, as Textual calls it; empty for the first screen."""
    rows: tuple[str, ...]
    """Line by line, with the sequences that color it."""
    text: tuple[str, ...]
    """The same without them."""


def played(
    trace: Trace, keys: Sequence[str], size: tuple[int, int], arguments: Sequence[str]
) -> tuple[list[Screen], str]:
    """The first screen and those after each key, and the last one as SVG.

    ``arguments`` are what runs the program, after ``dispatchviz run``.
    """
    with _nobodys_layouts():
        return asyncio.run(_played(trace, keys, size, arguments))


async def _played(
    trace: Trace, keys: Sequence[str], size: tuple[int, int], arguments: Sequence[str]
) -> tuple[list[Screen], str]:
    app = StepperApp(Session(trace, run_arguments=list(arguments)))
    async with app.run_test(size=size) as pilot:
        while app.view.prompt is None:
            await pilot.pause()
        screens = [_screen(app, "")]
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
            screens.append(_screen(app, key))
        title = f"dispatchviz run {' '.join(arguments)}"
        return screens, without_fonts(app.export_screenshot(title=title))


def _screen(app: StepperApp, key: str) -> Screen:
    console = Console(width=app.size.width, force_terminal=True, color_system="truecolor", legacy_windows=False)
    strips = app.screen._compositor.render_strips(app.size)
    return Screen(key, tuple(strip.render(console) for strip in strips), tuple(strip.text for strip in strips))


@contextmanager
def _nobodys_layouts() -> Iterator[None]:
    """Inside the block the stepper looks as it does for a newcomer: no layout that somebody keeps, no colors left
    out."""
    before = dict(os.environ)
    with TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state
        os.environ.pop("NO_COLOR", None)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def without_fonts(svg: str) -> str:
    """Without fonts from the network; any font of one width will do."""
    plain = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return "\n".join(line.rstrip() for line in plain.splitlines()) + "\n"


def texts(svg: str) -> list[str]:
    """The words in a picture: what two pictures are compared by, since Textual's own marks differ from release to
    release."""
    return re.findall(r"<text [^>]*>(.*?)</text>", svg)
