"""Pictures in the dark theme: each color has a legible counterpart, and no text changes."""

from __future__ import annotations

import re

import pytest

from dispatchviz.outputs.picture.dot import Drawing, Pen
from dispatchviz.outputs.picture.graph_picture import backward_graph, picture
from dispatchviz.outputs.picture.picture_options import THEMES, Options
from dispatchviz.outputs.picture.svg import RenderError, svg, texts
from dispatchviz.outputs.picture.theme import DARK, TEXT, themed
from tests.explain.founding import founding
from tests.graphs import chain

COLOR = re.compile(r'\b(?:fill|stroke)="(?!none)([^"]+)"')


def pictures() -> list[str]:
    graphs = [backward_graph(founding()), backward_graph(founding(), at=60), backward_graph(chain(200))]
    return [graph.svg() for graph in graphs]


def test_every_color_has_a_counterpart() -> None:
    for text in pictures():
        assert {color.lower() for color in COLOR.findall(text)} <= DARK.keys()


@pytest.mark.parametrize("theme", THEMES)
def test_theme_changes_no_text(theme: str) -> None:
    for text in pictures():
        assert list(texts(themed(text, theme))) == list(texts(text))  # type: ignore[arg-type]


def test_no_light_color_is_left_in_the_dark() -> None:
    for text in pictures():
        colors = {color.lower() for color in COLOR.findall(themed(text, "dark"))}
        assert colors <= {*DARK.values(), TEXT}


def test_a_picture_for_browsers_has_both() -> None:
    light = pictures()[0]
    text = themed(light, "auto")
    assert text.count("@media (prefers-color-scheme: dark)") == 1
    assert re.sub(r"<style>.*?</style>\n| class=\"dispatchviz\"", "", text, flags=re.DOTALL) == light
    for color in {color.lower() for color in COLOR.findall(light)}:
        assert DARK[color] in text


def test_a_label_that_looks_like_a_color_stays() -> None:
    pen = Pen()
    pen.box("a", pen.text('fill="#ffffff" <b fill="#ffffff">'))
    drawn = pen.drawing(["title"])
    assert isinstance(drawn, Drawing)
    assert 'fill="#ffffff" <b fill="#ffffff">' in set(texts(svg(drawn, "dark")))


@pytest.mark.parametrize(("suffix", "theme"), [(".png", "auto"), (".dot", "dark"), (".pdf", "dark"), (".pdf", "auto")])
def test_theme_that_a_form_does_not_have_is_refused(suffix: str, theme: str) -> None:
    with pytest.raises(RenderError, match=f"the theme {theme} is only for"):
        picture(backward_graph(founding()), suffix, options=Options(theme=theme))  # type: ignore[arg-type]
