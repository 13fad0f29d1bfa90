"""The panes that a reader keeps for a kind of step: in a file of the reader's, written when that is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.views.layout.kept_layouts import layouts_file, read_layouts, write_layouts
from dispatchviz.views.layout.pane_layout import CALLS, KEYS, SOURCE, STEPS
from tests.steps import step

from .screens import Reader, read
from .synthetic import forum


@pytest.fixture(autouse=True)
def own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def shown(reader: Reader) -> list[int]:
    return [number for number, pane in reader.app.view.panes.items() if pane.display]


def test_a_first_run_writes_nothing() -> None:
    async def story(reader: Reader) -> None:
        await reader.press("s", "4", "1", "enter", "escape", "q")

    read(forum(), story, (80, 24))
    assert not layouts_file().exists()
    assert not layouts_file().parent.exists()


def test_kept_panes_come_back_next_time_and_at_other_steps_of_the_kind() -> None:
    trace = forum()
    computed, selected = step(trace, ev.KeySetComputed), step(trace, ev.KernelSelected)

    async def keeps(reader: Reader) -> None:
        assert shown(reader) == [STEPS, KEYS]
        await reader.press("4", "L", "1")
        assert shown(reader) == [STEPS, CALLS]

    async def later(reader: Reader) -> None:
        assert shown(reader) == [STEPS, CALLS]
        await reader.press("g")
        assert shown(reader) == [STEPS, SOURCE]

    async def forgets(reader: Reader) -> None:
        await reader.press("L")
        assert shown(reader) == [STEPS, KEYS]

    read(trace, keeps, (80, 24), computed)
    assert layouts_file().read_text() == '{\n  "dispatch": [\n    "calls"\n  ]\n}\n'
    read(trace, later, (80, 24), selected)
    read(trace, forgets, (80, 24), computed)
    assert read_layouts() == {}


def test_a_file_that_cannot_be_read_is_no_layout() -> None:
    layouts_file().parent.mkdir(parents=True)
    for damaged in ("", "[1]", '{"dispatch": 3}', '{"dispatch": ["calls", "no such pane"]}'):
        layouts_file().write_text(damaged)
        assert read_layouts() in ({}, {"dispatch": (CALLS,)})


def test_where_nothing_can_be_written_the_reader_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert write_layouts({"dispatch": (CALLS,)})

    async def story(reader: Reader) -> None:
        await reader.press("4", "L")
        assert reader.sees("Kept until you quit, but not for later")

    read(forum(), story, (100, 30))
