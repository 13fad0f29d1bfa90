"""Tests of marks, breakpoints, the filter, the copied command and the picture, as a reader uses them."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.commands import sharing
from dispatchviz.views.cursor.breakpoints.breakpoint import Breakpoint
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.cursor.kept_texts import Marks
from dispatchviz.views.session import Session
from tests.steps import all_hits, last_step, step
from tests.waiting import HANGS

from .screens import stepper
from .synthetic import forum

END = last_step(forum())


def steps_of(*words: str) -> list[int]:
    """The steps that a filter with some words shows."""
    return list(all_hits(forum(), " ".join(words)))


def test_continue_stops_at_breakpoints_instead_of_lines() -> None:
    trace = forum()
    node = step(trace, ev.NodeCreated)
    cursor = Cursor(trace, breakpoints=(Breakpoint("event", "NodeCreated"),))
    assert cursor.resume().at == node
    assert Cursor(trace).resume().at < node
    assert cursor.goto(node + 1).resume_back().at == node
    by_key = Cursor(trace, breakpoints=(Breakpoint("key", "AutogradCUDA"),)).resume()
    assert trace[by_key.at].key == "AutogradCUDA"


def test_moves_skip_steps_that_a_filter_hides() -> None:
    hits = steps_of("dispatch")
    cursor = Cursor(forum()).filtered(tuple(hits))
    assert cursor.at == hits[0]
    assert [cursor.into().at, cursor.last().at, cursor.last().into().at] == [hits[1], hits[-1], hits[-1]]
    assert cursor.into().into_back().at == hits[0]
    assert cursor.filtered(None).into().at == hits[0] + 1


@pytest.mark.long
async def test_key_f_filters_steps() -> None:
    hits = steps_of("dispatch")
    async with stepper(forum()) as reader:
        await reader.press("f", *"dispatch", "enter")
        assert reader.sees(f"{len(hits)} of {len(forum())} steps with dispatch. f Enter shows all steps again")
        assert reader.at == hits[0]
        assert not reader.sees("> line 3  x = torch.randn")
        await reader.press("s")
        assert reader.at == hits[1]
        assert reader.sees(f"▶ {hits[1]:>2} ")
        await reader.press("f", *"nosuchword", "enter")
        assert reader.sees("No step matches nosuchword: the filter is still dispatch")
        await reader.press("f", "enter", "f", *"nosuchword", "enter")
        assert reader.sees("No step matches nosuchword: all steps are still shown")
        await reader.press("f", "enter", "g")
        assert reader.sees(" 3  x = torch")
        assert reader.at == 0


@pytest.mark.long
async def test_marks_can_be_named_and_listed() -> None:
    async with stepper(forum()) as reader:
        await reader.press("apostrophe")
        assert reader.sees("No marks yet: m sets one here")
        await reader.press("s", "s", "m", *"here", "enter")
        assert reader.sees("Mark set. c and C stop here; ' lists all marks")
        await reader.press("G", "m", "enter", "g", "apostrophe")
        assert reader.sees("Marks (Enter goes there", "here")
        await reader.press("enter")
        assert reader.at == 2
        assert reader.sees("Mark here")
        await reader.press("apostrophe", "down", "enter")
        assert reader.at == END
        await reader.press("apostrophe", "escape", "m")
        assert reader.sees("Mark removed")
        assert reader.app.session.marks.names == {2: "here"}


def test_marks_are_kept_beside_the_trace(tmp_path: Path) -> None:
    file = str(tmp_path / "forum.jsonl")
    first = Marks(forum(), file)
    assert first.set(7, "seven") == first.set(3, "") == ""
    written = json.loads((tmp_path / "forum.jsonl.marks.json").read_text())
    assert written == {"marks": {"3": "", "7": "seven"}}
    assert Marks(forum(), file).names == {3: "", 7: "seven"}
    assert Session(forum(), file=file).cursor.marks == {3, 7}
    (tmp_path / "forum.jsonl.marks.json").write_text('{"marks": {"3": "", "999": "gone"}}')
    assert Marks(forum(), file).names == {3: ""}
    (tmp_path / "forum.jsonl.marks.json").write_text("something else")
    assert Marks(forum(), file).names == {}
    assert "cannot write" in Marks(forum(), str(tmp_path / "no folder" / "t")).set(1, "")


async def test_key_y_copies_the_command() -> None:
    async with stepper(forum(), step=5) as reader:
        await reader.press("y")
        assert reader.sees("Copied: dispatchviz run --step 5 forum.py")
        assert reader.app.clipboard == "dispatchviz run --step 5 forum.py"


async def test_key_o_opens_the_graph_in_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    monkeypatch.setattr(sharing, "open_in_browser", lambda path: opened.append(path) or True)
    async with stepper(forum(), step=0) as reader:
        await reader.press("o")
        assert reader.sees(f"No backward graph yet: it starts at step {step(forum(), ev.NodeCreated)}")
        assert opened == []
        await reader.press("G", "o")
        await reader.until(lambda: reader.sees("Opened in the browser: "))
        assert "AddBackward0" in opened[0].read_text()


async def test_keys_work_while_a_picture_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    may_end, drawn = threading.Event(), list[int]()

    def slow(trace: Trace, at: int) -> tuple[Path, str]:
        drawn.append(at)
        assert may_end.wait(HANGS)
        return Path("/somewhere.svg"), "748 Nodes are folded"

    monkeypatch.setattr(sharing, "picture_file", slow)
    monkeypatch.setattr(sharing, "open_in_browser", lambda path: True)
    async with stepper(forum(), step=last_step(forum())) as reader:
        last = reader.at
        await reader.press("o")
        assert reader.sees("Drawing the backward graph")
        await reader.press("left")
        assert reader.at < last
        before = reader.at
        await reader.press("o")
        assert reader.sees("Still drawing")
        may_end.set()
        await reader.until(lambda: reader.sees("Opened in the browser: /somewhere.svg. 748 Nodes are folded"))
        assert reader.at == before, "the reader stays where the keys led"
        assert drawn == [last]


async def test_missing_graph_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "picture_file", Mock(side_effect=OSError(28, "No space left on device")))
    async with stepper(forum(), step=0) as reader:
        await reader.press("G", "o")
        await reader.until(lambda: reader.sees("The picture was not drawn: ", "No space left on device"))
        await reader.press("o")
        await reader.until(lambda: reader.sees("The picture was not drawn: "))


def test_text_browser_never_takes_over_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert sharing.open_in_browser(Path("/nowhere.svg")) is False
