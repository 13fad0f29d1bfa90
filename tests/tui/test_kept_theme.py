"""The theme that a reader has chosen is there the next time, and nothing is written before."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.foundation import reader_rights
from dispatchviz.tui.app import StepperApp
from dispatchviz.tui.terminal.kept_theme import read_theme, settings_file, write_theme
from dispatchviz.views.session import Session

from .screens import Reader, read
from .synthetic import forum


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("TEXTUAL_THEME", raising=False)


def next_theme() -> str:
    """The theme of the next stepper."""
    app = StepperApp(Session(forum()))
    app.use_kept_theme()
    return app.theme


def test_the_theme_that_is_chosen_is_there_the_next_time() -> None:
    async def story(reader: Reader) -> None:
        before = reader.app.theme
        assert not settings_file().exists(), "opening the stepper writes nothing"
        reader.app.action_change_theme()
        await reader.answered()
        await reader.press(*"nord")
        await reader.until(lambda: "nord" in reader.text)
        await reader.press("enter")
        await reader.until(lambda: reader.app.theme != before)
        assert reader.app.theme == "nord"

    read(forum(), story)
    assert settings_file().read_text() == '{\n  "theme": "nord"\n}\n'
    assert next_theme() == "nord"


def test_without_a_choice_it_is_textuals(monkeypatch: pytest.MonkeyPatch) -> None:
    assert next_theme() == "textual-dark"
    assert write_theme("dracula") == ""
    monkeypatch.setenv("TEXTUAL_THEME", "nord")
    assert read_theme() == "", "the environment comes first"


@pytest.mark.parametrize("text", ["", "no json", '{"theme": 3}', '{"theme": "no such theme"}', "[]"])
def test_a_file_that_is_none_is_as_no_file(text: str) -> None:
    settings_file().parent.mkdir(parents=True)
    settings_file().write_text(text)
    assert next_theme() == "textual-dark"


def test_a_served_session_keeps_none(monkeypatch: pytest.MonkeyPatch) -> None:
    write_theme("nord")
    monkeypatch.setattr(reader_rights._Rights, "has_files", False)
    assert next_theme() == "textual-dark"
    write_theme("dracula")
    assert "nord" in settings_file().read_text()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert "Not a directory" in write_theme("nord")
