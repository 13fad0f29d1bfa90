"""Keys pressed in a stepper without a terminal, and its screen after each."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from msgspec import Struct
from rich.console import Console

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.app import StepperApp
from dispatchviz.views.session import Session


class Screen(Struct, frozen=True):
    """The contents of a terminal."""

    key: str
    """The key that led here, by Textual's name; empty for the first screen."""
    rows: tuple[str, ...]
    """The lines with their color sequences."""
    text: tuple[str, ...]
    """The lines without color sequences."""


def played(
    trace: Trace, keys: Sequence[str], size: tuple[int, int], arguments: Sequence[str]
) -> tuple[list[Screen], str]:
    """Return the first screen and the screen after each key, and the last one as SVG.

    ``arguments`` are the arguments of ``dispatchviz run`` that run the program.
    """
    with _default_settings():
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
def _default_settings() -> Iterator[None]:
    """Make the stepper look as it does on a first use: without stored layouts, and with all colors."""
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
    """Remove fonts that come from the network; any monospaced font works."""
    plain = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return "\n".join(line.rstrip() for line in plain.splitlines()) + "\n"


def texts(svg: str) -> list[str]:
    """The words in a picture, to compare two pictures. Textual's own marks differ between releases."""
    return re.findall(r"<text [^>]*>(.*?)</text>", svg)
