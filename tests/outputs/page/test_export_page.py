"""``export -o trace.html`` and ``lesson NAME -o lesson.html`` as a user types them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dispatchviz.cli import main
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.formats import check_suffix
from dispatchviz.outputs.page.format import check_page
from dispatchviz.outputs.page.player_page import player_page
from dispatchviz.outputs.without_folders import without_folders
from dispatchviz.running.program import run
from tests.outputs.page.decoded import Decoded, packed

FORUM = str(Path(__file__).parents[3] / "examples" / "forum.py")


def dispatchviz(*words: str | Path) -> int:
    return main([str(word) for word in words])


def test_a_program_becomes_a_page_that_is_replaced_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "forum.html"
    assert dispatchviz("export", FORUM, "-o", path) == 0
    first = path.read_bytes()
    assert dispatchviz("export", FORUM, "-o", path) == 0
    assert path.read_bytes() == first
    assert packed(first)["recorded"]["count"] == len(run(FORUM, values=16).trace)


def test_a_saved_trace_becomes_the_same_page(tmp_path: Path) -> None:
    trace = run(FORUM).trace
    trace.save(tmp_path / "forum.dvtrace")
    assert dispatchviz("export", tmp_path / "forum.dvtrace", "-o", tmp_path / "forum.html") == 0
    assert packed((tmp_path / "forum.html").read_bytes()) == packed(player_page(without_folders(trace)))


def test_a_part_becomes_a_page(tmp_path: Path) -> None:
    path = tmp_path / "part.html"
    assert dispatchviz("export", FORUM, "--only", "op=add", "-o", path) == 0
    assert 0 < packed(path.read_bytes())["recorded"]["count"] < len(run(FORUM).trace)


def test_file_that_is_no_page_of_ours_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.html"
    path.write_text("<!DOCTYPE html><p>mine</p>")
    assert dispatchviz("export", FORUM, "-o", path) == 2
    assert "exists and is not a page from dispatchviz" in capsys.readouterr().err
    assert path.read_text() == "<!DOCTYPE html><p>mine</p>"
    path.write_bytes(player_page(run(FORUM).trace))
    check_page(str(path))


def test_error_for_an_unknown_suffix_lists_pages() -> None:
    with pytest.raises(DispatchvizError, match=r"Interactive pages: \.html"):
        check_suffix("trace.htm")


def test_nothing_recorded_is_one_clear_error() -> None:
    trace = Trace(run(FORUM).trace.header, [])
    with pytest.raises(DispatchvizError, match="nothing was recorded, so there are no steps to show"):
        player_page(trace)


def test_a_lesson_becomes_a_page_with_its_passages(tmp_path: Path) -> None:
    path = tmp_path / "lesson.html"
    assert dispatchviz("lesson", "forum", "-o", path) == 0
    data = packed(path.read_bytes())["recorded"]
    page = Decoded(data)
    said = ["".join(text for text, _ in page.row(row)[0]) for place in data["lesson"] for row in place["rows"]]
    assert "1 of 11" in said[0]
    assert any("The two questions" in text for text in said)
    assert any(place["asks"] for place in data["lesson"])
    asked = {question["reveals"] for question in data["questions"]["asked"]}
    assert {place["step"] for place in data["lesson"] if place["asks"]} <= asked


def test_page_makes_no_requests() -> None:
    text = player_page(run(FORUM).trace).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[1]
    everything = text + packed(text.encode())["script"] + packed(text.encode())["style"]
    assert not re.search(r"https?://|innerHTML|\beval\(|insertAdjacentHTML|document\.write", everything)


def test_the_founding_program_fits_into_155_kb() -> None:
    assert len(player_page(run(FORUM).trace)) < 155_000
