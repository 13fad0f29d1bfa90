"""Writes ``docs/tour.md`` and its pictures: the screens of the stepper, in the order in which a newcomer meets them.

``python -m scripts.tour`` makes all of it anew. The stepper is driven as a reader drives it, by keys.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from dispatchviz.program import run
from dispatchviz.tui.app import StepperApp
from dispatchviz.tui.session import Session

ROOT = Path(__file__).parents[1]
PAGE, PICTURES = ROOT / "docs" / "tour.md", ROOT / "docs" / "tour"


class Stop(NamedTuple):
    """A screen: how to come there, and what to see."""

    name: str
    title: str
    program: str
    keys: tuple[str, ...]
    text: str
    size: tuple[int, int] = (120, 40)


STOPS = (
    Stop(
        "first",
        "The first screen",
        "forum",
        (),
        "What the program did, line by line, and where autograd begins: why AutogradCUDA is there at all.",
        (80, 24),
    ),
    Stop(
        "node",
        "`]` `n`: the first Node",
        "forum",
        ("right_square_bracket", "n"),
        "One step drives every pane: the key set and who won, the cell and why it holds that kernel, the call stack in "
        "PyTorch's names, the line of the kernel that runs, the graph as far as it is built.",
    ),
    Stop(
        "engine",
        "`]` `b`: the engine runs a Node",
        "forum",
        ("right_square_bracket", "b"),
        "Backward is a row, and the Nodes that it runs are rows in it, in the order in which they ran.",
    ),
    Stop(
        "loop",
        "A training loop",
        "mlp",
        (),
        "Turns of a loop are one row until they are unfolded; a row counts what happened in it.",
        (100, 30),
    ),
    Stop(
        "error",
        "A program that raises",
        "inplace_error",
        (),
        "The trace opens at its end. The reason comes first: who saved the tensor, which line changed it.",
        (100, 30),
    ),
    Stop(
        "wide",
        "200 columns",
        "autocast",
        ("right_square_bracket", "r"),
        "A wide terminal has room for all that a step needs.",
        (200, 60),
    ),
)


def picture(stop: Stop) -> str:
    """The screen as SVG."""
    trace = run(f"examples/{stop.program}.py", (), io.StringIO()).trace

    async def drive() -> str:
        app = StepperApp(Session(trace, run_arguments=[f"examples/{stop.program}.py"]))
        async with app.run_test(size=stop.size) as pilot:
            while app.view.prompt is None:
                await pilot.pause()
            await pilot.press(*stop.keys)
            await pilot.pause()
            return app.export_screenshot(title=f"dispatchviz run examples/{stop.program}.py")

    return without_fonts(asyncio.run(drive()))


def without_fonts(svg: str) -> str:
    """Without fonts from the network; any font of one width will do."""
    plain = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return "\n".join(line.rstrip() for line in plain.splitlines()) + "\n"


def page() -> str:
    """The text around the pictures."""
    parts = [
        "# A tour of the stepper",
        "`python -m scripts.tour` makes this page and its pictures anew.",
        "    dispatchviz run examples/forum.py",
    ]
    for stop in STOPS:
        parts += [f"## {stop.title}", f"{stop.text} (`examples/{stop.program}.py`, {stop.size[0]}x{stop.size[1]})"]
        parts += [f"![{stop.title}](tour/{stop.name}.svg)"]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Writes all of it."""
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state  # without the layouts that somebody keeps
        for stop in STOPS:
            (PICTURES / f"{stop.name}.svg").write_text(picture(stop), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
