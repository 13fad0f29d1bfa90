"""Tests of the reader's files: layouts, texts beside a trace, the theme."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.foundation import reader_rights
from dispatchviz.tui.app import StepperApp
from dispatchviz.tui.terminal.kept_theme import read_theme, settings_file, write_theme
from dispatchviz.views.cursor.kept_texts import KeptTexts
from dispatchviz.views.layout.kept_layouts import layouts_file, read_layouts, write_layouts
from dispatchviz.views.layout.pane_layout import CALLS, KEYS, SOURCE, STEPS
from dispatchviz.views.session import Session
from tests.steps import step

from .screens import Reader, stepper
from .synthetic import forum


def shown(reader: Reader) -> list[int]:
    return [number for number, pane in reader.app.view.panes.items() if pane.display]


async def test_a_first_run_writes_nothing() -> None:
    async with stepper(forum(), (80, 24)) as reader:
        await reader.press("s", "4", "1", "enter", "escape", "q")
    assert not layouts_file().exists()
    assert not layouts_file().parent.exists()


async def test_stored_panes_return_next_time_at_steps_of_the_kind() -> None:
    trace = forum()
    computed, selected = step(trace, ev.KeySetComputed), step(trace, ev.KernelSelected)
    async with stepper(trace, (80, 24), computed) as reader:
        assert shown(reader) == [STEPS, KEYS]
        await reader.press("4", "L", "1")
        assert shown(reader) == [STEPS, CALLS]
    assert layouts_file().read_text() == '{\n  "dispatch": [\n    "calls"\n  ]\n}\n'
    async with stepper(trace, (80, 24), selected) as reader:
        assert shown(reader) == [STEPS, CALLS]
        await reader.press("g")
        assert shown(reader) == [STEPS, SOURCE]
    async with stepper(trace, (80, 24), computed) as reader:
        await reader.press("L")
        assert shown(reader) == [STEPS, KEYS]
    assert read_layouts() == {}


def test_unreadable_file_gives_no_layout() -> None:
    layouts_file().parent.mkdir(parents=True)
    for damaged in ("", "[1]", '{"dispatch": 3}', '{"dispatch": ["calls", "no such pane"]}'):
        layouts_file().write_text(damaged)
        assert read_layouts() in ({}, {"dispatch": (CALLS,)})


async def test_failed_write_of_layout_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert write_layouts({"dispatch": (CALLS,)})
    async with stepper(forum(), (100, 30)) as reader:
        await reader.press("4", "L")
        assert reader.sees("This choice lasts until you quit, but is not saved")


NOT_OURS = ["something else", "[]", '{"marks": 3}', '{"other": {}}', b"\xff\xfe", "{" * 100, "[" * 100_000]


def kept(folder: Path) -> tuple[KeptTexts, Path]:
    return KeptTexts(str(folder / "t.dvtrace"), "marks"), folder / "t.dvtrace.marks.json"


@pytest.mark.parametrize("content", NOT_OURS, ids=range(len(NOT_OURS)))
def test_foreign_file_is_never_overwritten(tmp_path: Path, content: str | bytes) -> None:
    texts, path = kept(tmp_path)
    there = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(there)
    assert texts.read() == {}
    assert texts.change({1: "x"}) == f"{path} is not a file of marks. It is left unchanged, and nothing is saved"
    assert path.read_bytes() == there


def test_unknown_entries_of_a_file_are_preserved(tmp_path: Path) -> None:
    texts, path = kept(tmp_path)
    path.write_text('{"by": "hand", "marks": {"note": "x", "-1": "y", "5": 5, "9999": "z", "3": "three"}}')
    assert texts.read() == {3: "three", 9999: "z"}
    assert texts.change({3: None, 4: "four"}) == ""
    marks = {"note": "x", "-1": "y", "5": 5, "9999": "z", "4": "four"}
    assert json.loads(path.read_text()) == {"by": "hand", "marks": marks}


def test_entries_of_another_stepper_are_preserved(tmp_path: Path) -> None:
    one, path = kept(tmp_path)
    other, _ = kept(tmp_path)
    assert one.change({1: "one"}) == other.change({2: "two"}) == one.change({3: "three"}) == ""
    assert json.loads(path.read_text()) == {"marks": {"1": "one", "2": "two", "3": "three"}}


def test_no_trace_file_writes_nothing_and_empty_file_is_filled(tmp_path: Path) -> None:
    texts = KeptTexts("", "marks")
    assert (texts.change({1: "one"}), texts.read()) == ("", {})
    texts, path = kept(tmp_path)
    assert texts.read() == {}
    path.write_text("")
    assert texts.change({1: "one"}) == ""
    assert texts.read() == {1: "one"}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("TEXTUAL_THEME", raising=False)


def next_theme() -> str:
    """The theme of the next stepper."""
    app = StepperApp(Session(forum()))
    app.use_kept_theme()
    return app.theme


async def test_chosen_theme_is_used_next_time() -> None:
    async with stepper(forum()) as reader:
        before = reader.app.theme
        assert not settings_file().exists(), "opening the stepper writes nothing"
        reader.app.action_change_theme()
        await reader.answered()
        await reader.press(*"nord")
        await reader.until(lambda: "nord" in reader.text)
        await reader.press("enter")
        await reader.until(lambda: reader.app.theme != before)
        assert reader.app.theme == "nord"
    assert settings_file().read_text() == '{\n  "theme": "nord"\n}\n'
    assert next_theme() == "nord"


def test_default_theme_is_textuals(monkeypatch: pytest.MonkeyPatch) -> None:
    assert next_theme() == "textual-dark"
    assert write_theme("dracula") == ""
    monkeypatch.setenv("TEXTUAL_THEME", "nord")
    assert read_theme() == "", "the environment comes first"


@pytest.mark.parametrize("text", ["", "no json", '{"theme": 3}', '{"theme": "no such theme"}', "[]"])
def test_invalid_theme_file_is_ignored(text: str) -> None:
    settings_file().parent.mkdir(parents=True)
    settings_file().write_text(text)
    assert next_theme() == "textual-dark"


def test_served_session_stores_no_theme(monkeypatch: pytest.MonkeyPatch) -> None:
    write_theme("nord")
    monkeypatch.setattr(reader_rights._Rights, "has_files", False)
    assert next_theme() == "textual-dark"
    write_theme("dracula")
    assert "nord" in settings_file().read_text()


def test_unwritable_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert "Not a directory" in write_theme("nord")
