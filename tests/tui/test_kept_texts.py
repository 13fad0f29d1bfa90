"""Files beside a trace: what is kept in them, and that nothing of the user's is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dispatchviz.views.cursor.kept_texts import KeptTexts

NOT_OURS = ["something else", "[]", '{"marks": 3}', '{"other": {}}', b"\xff\xfe", "{" * 100, "[" * 100_000]


def kept(folder: Path) -> tuple[KeptTexts, Path]:
    return KeptTexts(str(folder / "t.dvtrace"), "marks"), folder / "t.dvtrace.marks.json"


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    texts, path = kept(tmp_path)
    assert texts.read() == {}
    assert texts.change({7: "seven"}) == texts.change({3: ""}) == ""
    assert texts.read() == {3: "", 7: "seven"}
    assert texts.change({7: None, 8: "eight"}) == ""
    assert json.loads(path.read_text()) == {"marks": {"3": "", "8": "eight"}}


@pytest.mark.parametrize("content", NOT_OURS, ids=range(len(NOT_OURS)))
def test_a_file_of_somebody_elses_is_never_written(tmp_path: Path, content: str | bytes) -> None:
    texts, path = kept(tmp_path)
    there = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(there)
    assert texts.read() == {}
    assert texts.change({1: "x"}) == f"{path} is no file of marks: it stays as it is, and nothing is kept"
    assert path.read_bytes() == there


def test_what_is_not_ours_in_a_file_stays_there(tmp_path: Path) -> None:
    texts, path = kept(tmp_path)
    path.write_text('{"by": "hand", "marks": {"note": "x", "-1": "y", "5": 5, "9999": "z", "3": "three"}}')
    assert texts.read() == {3: "three", 9999: "z"}
    assert texts.change({3: None, 4: "four"}) == ""
    marks = {"note": "x", "-1": "y", "5": 5, "9999": "z", "4": "four"}
    assert json.loads(path.read_text()) == {"by": "hand", "marks": marks}


def test_what_another_stepper_has_written_meanwhile_stays(tmp_path: Path) -> None:
    one, path = kept(tmp_path)
    other, _ = kept(tmp_path)
    assert one.change({1: "one"}) == other.change({2: "two"}) == one.change({3: "three"}) == ""
    assert json.loads(path.read_text()) == {"marks": {"1": "one", "2": "two", "3": "three"}}


def test_an_empty_file_is_begun(tmp_path: Path) -> None:
    texts, path = kept(tmp_path)
    path.write_text("")
    assert texts.change({1: "one"}) == ""
    assert texts.read() == {1: "one"}


def test_without_a_file_nothing_is_written() -> None:
    texts = KeptTexts("", "marks")
    assert (texts.change({1: "one"}), texts.read()) == ("", {})
