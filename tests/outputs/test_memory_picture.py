"""The picture of the memory of saved tensors: its curve, bars, texts, and the formats that it can be written in."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.graph.memory.kept_memory import kept_memory
from dispatchviz.outputs.picture import memory_picture as drawing
from dispatchviz.outputs.picture.chosen_picture import Chosen, chosen_picture
from dispatchviz.outputs.picture.memory_picture import ALONE, HELD, HIGH, LEFT, WIDE, memory_picture
from dispatchviz.outputs.picture.svg import RenderError, texts
from dispatchviz.trace import Trace
from tests.explain.programs import traced
from tests.steps import last_step, line, step


@functools.cache
def training() -> Trace:
    trace = traced("""
    import torch
    x = torch.ones(16, requires_grad=True)
    for _ in range(3):
        y = x.exp()
        z = y.half().sin()
        z.sum().backward()
    """)
    assert isinstance(trace, Trace)
    return trace


def rects(picture: str, color: str) -> list[tuple[float, float]]:
    """Return the left and right ends of the bars of a color, without the one in the legend."""
    root = ElementTree.fromstring(picture)
    found = [each for each in root.iter("{http://www.w3.org/2000/svg}rect") if each.get("fill") == color]
    return [(float(each.get("x", 0)), float(each.get("x", 0)) + float(each.get("width", 0))) for each in found][1:]


def x_of(trace: Trace, at: int) -> float:
    return LEFT + WIDE * at / len(trace)


def test_the_peak_has_its_bytes_and_its_line() -> None:
    trace = training()
    said = list(texts(memory_picture(trace).svg()))
    peak = kept_memory(trace).peak
    assert f"peak: 96 bytes at step {peak}, line 6: z = y.half().sin()" in said
    assert f"Kept at step {peak}:" in said
    assert [text for text in said if "float" in text] == [
        "y [16] float32  64 bytes",
        "copy of y [16] float16  32 bytes",
    ]


def test_a_bar_spans_the_steps_at_which_its_storage_is_kept() -> None:
    trace = training()
    (first,) = rects(memory_picture(trace).svg(), HELD)[:1]
    saved, run = step(trace, ev.VariableSaved), [life.end for life in kept_memory(trace).lives]
    assert first == pytest.approx((x_of(trace, saved), x_of(trace, run[0])), abs=0.1)
    alone = rects(memory_picture(trace).svg(), ALONE)
    assert alone[-1] == pytest.approx((x_of(trace, kept_memory(trace).peak), x_of(trace, run[1])), abs=0.1)


def test_the_area_reaches_the_top_at_the_peak_only() -> None:
    trace = training()
    path = next(part for part in re.findall(r'<path d="([^"]*)" fill="#D3E7F5"', memory_picture(trace).svg()))
    heights = [float(each) for each in re.findall(r"V([\d.]+)", path)]
    assert min(heights) == drawing.HEAD
    assert heights.count(drawing.HEAD) == 3, "one for each iteration"
    assert max(heights) == drawing.HEAD + HIGH


def test_a_step_chooses_the_storages_and_a_range_the_part() -> None:
    trace = training()
    second = step(trace, ev.VariableSaved, 2)
    whole, at = memory_picture(trace).svg(), memory_picture(trace, (second, second)).svg()
    assert f"64 bytes at step {second}, line 5: y = x.exp()" in list(texts(at))
    assert len([text for text in texts(at) if "float" in text]) == 1
    part = memory_picture(trace, (line(trace, 7), second)).svg()
    assert len(part) < len(whole)
    assert list(texts(trace.saved_memory(second).svg()))[1:] == list(texts(at))[1:], "all but the folder of the program"
    assert list(texts(trace.saved_memory().svg()))[1:] == list(texts(whole))[1:]


@pytest.mark.parametrize(("steps", "said"), [(None, "in this trace"), ((0, 0), "at step 0")])
def test_nothing_is_drawn_without_a_kept_tensor(steps: tuple[int, int] | None, said: str) -> None:
    with pytest.raises(RenderError, match=f"no saved tensor is kept {said}"):
        memory_picture(traced("import torch\nx = torch.ones(2)\n"), steps)


def test_many_storages_and_steps_give_a_small_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "WIDE", 20)
    trace = traced("""
    import torch
    x = torch.ones(4, requires_grad=True)
    kept = [x * torch.ones(4 + n * 0) for n in range(40)]
    """)
    picture = memory_picture(trace)
    assert picture.note == "16 smaller storages of that step are not drawn"
    area = re.findall(r'<path d="([^"]*)" fill="#D3E7F5"', picture.svg())[0]
    assert area.count("H") <= 22
    assert kept_memory(trace).total.at(last_step(trace)) == 40 * 16


@pytest.mark.parametrize("suffix", [".pdf", ".dot"])
def test_a_format_without_the_picture_says_what_to_choose(suffix: str) -> None:
    with pytest.raises(RenderError, match=r"Choose \.svg or \.png"):
        chosen_picture(training(), suffix, Chosen("memory"))


def test_the_file_and_the_notebook_get_the_same_picture(tmp_path: Path) -> None:
    picture = training().saved_memory()
    picture.render(tmp_path / "memory.svg", theme="dark")
    assert (tmp_path / "memory.svg").read_text() == picture.svg(theme="dark")
    assert picture._repr_svg_() == picture.svg()
    assert "<img" in picture._repr_html_()
