"""Tests of keys played without a terminal: the screens, and the recording for asciinema."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dispatchviz.cli.tour_files import STOPS, Stop, check_tour, one_file, stale, write_all
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.tui.played.cast_file import EACH, FIRST, LAST, MARK, cast, shown_screens
from dispatchviz.tui.played.played_keys import Screen, played, texts
from tests.cli.command import FORUM, dispatchviz
from tests.tui.programs import forum

pytestmark = pytest.mark.long

SIZE = (90, 25)
KEYS = ("right_square_bracket", "n", "s")


@cache
def screens() -> tuple[list[Screen], str]:
    return played(forum(), KEYS, SIZE, ["examples/forum.py"])


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_screen_for_each_key_and_the_last_one_as_a_picture() -> None:
    shown, picture = screens()
    assert [screen.key for screen in shown] == ["", *KEYS]
    for screen in shown:
        assert len(screen.text) == SIZE[1]
        assert {len(row) for row in screen.text} == {SIZE[0]}
    assert "Line 6 creates the first Node, AddBackward0." in "".join(shown[0].text)
    assert "From step 147 to step" in "".join(shown[2].text)
    words = "".join(texts(picture)).replace("&#160;", " ")
    assert shown[-1].text[0].split()[1] in words, "the number of the step"
    assert "@font-face" not in picture


def test_a_recording_is_a_header_and_events_in_order() -> None:
    text = cast(screens()[0], SIZE, "title")
    header, *events = lines(text)
    assert text.startswith(MARK)
    assert header == {"version": 2, "width": 90, "height": 25, "title": "title", "env": {"TERM": "xterm-256color"}}
    times = [time for time, _, _ in events]
    assert times == sorted(times)
    assert [data for _, kind, data in events if kind == "m"] == ["]", "n", "s"]
    assert times[-1] == pytest.approx(0.1 + FIRST + 2 * EACH + EACH + 3 * 0.1 + LAST)


def test_recording_ends_with_the_last_screen() -> None:
    """Each event draws the changed rows at their positions."""
    drawn: dict[int, str] = {}
    for _, kind, data in lines(cast(screens()[0], SIZE, ""))[1:]:
        for place, row in re.findall(r"\x1b\[(\d+);1H(.*?)(?=\x1b\[\d+;1H|$)", data if kind == "o" else "", re.DOTALL):
            drawn[int(place)] = re.sub(r"\x1b\[[\d;]*m", "", row)
    assert tuple(drawn[place] for place in sorted(drawn)) == screens()[0][-1].text


def test_the_same_keys_give_the_same_bytes() -> None:
    again, picture = played(forum(), KEYS, SIZE, ["examples/forum.py"])
    assert cast(again, SIZE, "x") == cast(screens()[0], SIZE, "x")
    assert texts(picture) == texts(screens()[1])


def test_stored_layouts_and_settings_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    before = dict(os.environ)
    again, _ = played(forum(), (), SIZE, ["examples/forum.py"])
    assert again[0] == screens()[0][0]
    assert dict(os.environ) == before


def test_outdated_pictures_are_named(tmp_path: Path) -> None:
    made = one_file(str(tmp_path / "a.cast"), forum(), "x.py", ["]", "n"], SIZE)
    made |= one_file(str(tmp_path / "a.svg"), forum(), "x.py", ["]", "n"], SIZE)
    assert stale(made) == list(made)
    write_all(made)
    assert stale(made) == []
    for name in ("a.cast", "a.svg"):
        path = tmp_path / name
        path.write_text(path.read_text().replace("AddBackward0", "MulBackward0"))
        assert stale(made) == [str(path)]
        write_all(made)
    (tmp_path / "a.cast").unlink()
    assert stale(made) == [str(tmp_path / "a.cast")]


def test_foreign_file_is_not_overwritten(tmp_path: Path) -> None:
    mine = tmp_path / "mine.cast"
    mine.write_text("mine")
    with pytest.raises(DispatchvizError, match="exists and is not a recording of a terminal"):
        one_file(str(mine), forum(), "x.py", [], SIZE)
    with pytest.raises(DispatchvizError, match=r"Recordings: \.cast; pictures: \.svg"):
        one_file("x.gif", forum(), "x.py", [], SIZE)
    (tmp_path / f"{STOPS[0].name}.svg").write_text("mine")
    with pytest.raises(DispatchvizError, match=r"is not a \.svg picture"):
        check_tour(str(tmp_path))
    with pytest.raises(DispatchvizError, match="exists and is not a folder"):
        check_tour(str(mine))


def test_tour_uses_shipped_programs() -> None:
    names = [stop.name for stop in STOPS]
    assert len(set(names)) == len(names)
    assert all(isinstance(stop, Stop) and stop.text for stop in STOPS)


def test_command_line_writes_the_tour(tmp_path: Path) -> None:
    file = tmp_path / "n.cast"
    asked = ("record-tour", "--keys", "] n", "--size", "80x24", "-o", str(file), FORUM)
    done = dispatchviz(*asked)
    assert (done.status, done.out) == (0, f"{file} written\n")
    header = json.loads(file.read_text().splitlines()[0])
    assert (header["width"], header["height"]) == (80, 24)
    assert any("AddBackward0" in row for row in shown_screens(file.read_text()))
    assert dispatchviz(*asked, "--check").status == 0
    other = dispatchviz("record-tour", "--keys", "] b", "--size", "80x24", "-o", str(file), FORUM, "--check")
    assert other.status == 1
    assert other.err == f"dispatchviz: {file} is stale: the stepper shows something else now\n"
    assert dispatchviz("record-tour", "--size", "big", "-o", str(file), FORUM).status == 2
