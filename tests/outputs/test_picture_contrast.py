"""The contrast of text in pictures and pages, light and dark: at least 4.5, as WCAG 2 requires."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.color import Color

import dispatchviz
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.outputs.picture.chosen_picture import Chosen, Kind, chosen_picture
from dispatchviz.outputs.picture.picture_options import Options, Theme
from dispatchviz.outputs.picture.theme import DARK
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code
from dispatchviz.tui.terminal.contrast import LEAST, contrast

PAPER = {"light": "#ffffff", "dark": DARK["#ffffff"]}
"""The color behind a picture that paints no background."""

PROGRAM = """\
import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
x = torch.ones(4, 2, requires_grad=True)
net(x).sum().backward()
"""


@pytest.fixture(scope="module")
def trace() -> Trace:
    return run(Code(PROGRAM)).trace


def texts(picture: bytes, paper: str) -> Iterator[tuple[str, str, str]]:
    """Yield each text of an SVG with its color and the color behind it: that of the last shape painted in its group."""
    root = ElementTree.fromstring(picture)
    yield from _texts(root, root.get("fill", "black"), paper)


def _texts(group: ElementTree.Element, color: str, behind: str) -> Iterator[tuple[str, str, str]]:
    for part in group:
        tag, fill = part.tag.rpartition("}")[2], part.get("fill")
        if tag == "text":
            yield "".join(part.itertext()), fill or color, behind
        elif tag in ("polygon", "path", "ellipse", "rect", "polyline"):
            is_arrow = fill == part.get("stroke") or group.get("class") == "edge"
            behind = behind if is_arrow or fill in (None, "none", "transparent") else fill
        else:
            yield from _texts(part, fill or color, behind)


def ratio(color: str, behind: str) -> float:
    named = {"black": "#000000", "white": "#ffffff", "#fff": "#ffffff"}
    one, other = (Color.parse(named.get(each, each)).get_truecolor() for each in (color, behind))
    return contrast(one, other)


@pytest.mark.parametrize("theme", PAPER)
@pytest.mark.parametrize(("kind", "kinds"), [
    ("backward", ev.NodeStarted),
    ("calls", None),
    ("decision", ev.Dispatched),
    ("table", ev.Dispatched),
    ("classes", ev.ImplEntered),
    ("memory", ev.VariableSaved),
])  # fmt: skip
def test_every_text_of_a_picture_can_be_read(
    kind: Kind, kinds: type[ev.Event] | None, theme: Theme, trace: Trace
) -> None:
    at = None if kinds is None else trace.steps_of(kinds)[1]
    chosen = Chosen(kind, None if at is None else (at, at), options=Options("all", "module", theme))
    found = list(texts(chosen_picture(trace, ".svg", chosen).data, PAPER[theme]))
    assert len(found) > 5
    for text, color, behind in found:
        assert ratio(color, behind) >= LEAST, (text, color, behind)


PAIRS = [(color, behind) for color in ("text", "dim", "primary", "accent", "good", "warning", "error")
         for behind in ("back", "panel", "lit")] + [("text", state) for state in (
    "created", "waiting", "queued", "pruned", "running", "done", "released", "captured", "failed")]  # fmt: skip
"""Pairs of colors: of a text on the page, and behind it."""


@pytest.mark.parametrize("theme", PAPER)
def test_every_color_of_the_page_can_be_read(theme: str) -> None:
    css = Path(dispatchviz.__file__).parent.joinpath("outputs/page/assets/player.css").read_text("utf-8")
    begin = ":root {" if theme == "light" else ':root[data-theme="dark"] {'
    colors = dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6})\b", css.partition(begin)[2].partition("}")[0]))
    for color, behind in PAIRS:
        assert ratio(colors[color], colors[behind]) >= LEAST, (color, behind)
