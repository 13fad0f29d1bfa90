"""Tests of rows of the step list that take several lines while the list has free ones."""

from __future__ import annotations

import pytest

from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.panes.step_rows import step_row
from dispatchviz.views.panes.wrapped_steps import step_lines, wrapped_steps
from dispatchviz.views.session import Session

from .programs import example
from .screens import stepper

LONG = (
    "import torch\n"
    "a_long_name_of_a_tensor = torch.ones(2, 2, requires_grad=True)\n"
    "another_name = (a_long_name_of_a_tensor * 2 + a_long_name_of_a_tensor).exp().sum()\n"
    "another_name.backward()\n"
)


@pytest.fixture(scope="module")
def cursor() -> Cursor:
    return Session(run(Code(LONG)).trace).cursor.first()


def texts(cursor: Cursor, width: int, room: int) -> list[list[str]]:
    """The lines of each row."""
    found = wrapped_steps(cursor, width, room)
    assert found is not None
    return [[line.plain for line, row in zip(found.lines, found.rows, strict=True) if row == number]
            for number in range(len(cursor.rows))]  # fmt: skip


@pytest.mark.parametrize("width", [40, 64, 79, 119, 159])
def test_rows_wrap_if_there_is_room_for_all(cursor: Cursor, width: int) -> None:
    shown = texts(cursor, width, 60)
    assert all(len(line) <= width for row in shown for line in row)
    assert not any("…" in line for row in shown for line in row)
    for number, row in enumerate(shown):
        whole = "".join(step_row(cursor, number, 1_000).plain.split())
        assert "".join("".join(row).split()) == whole, "nothing is missing"


def test_a_list_without_free_rows_is_cut(cursor: Cursor) -> None:
    count = len(cursor.rows)
    assert wrapped_steps(cursor, 60, count) is None
    assert wrapped_steps(cursor, 60, count - 1) is None
    assert wrapped_steps(cursor, 60, count + 1) is not None


@pytest.mark.parametrize("free", range(1, 8))
def test_lines_never_exceed_the_room(cursor: Cursor, free: int) -> None:
    room = len(cursor.rows) + free
    shown = texts(cursor, 60, room)
    assert len(cursor.rows) < sum(map(len, shown)) <= room
    needed = [len(step_lines(cursor, number, 60)) for number in range(len(shown))]
    is_cut = [len(row) < lines for row, lines in zip(shown, needed, strict=True)]
    assert sum(map(len, shown)) == room or not any(is_cut), "no line is free while a row is cut"


def test_the_row_of_the_cursor_wraps_first(cursor: Cursor) -> None:
    last = cursor.last().up()
    number = next(at for at in range(len(last.rows)) if len(step_lines(last, at, 60)) > 1 and at != 1)
    there = last.goto(last.rows[number])
    shown = texts(there, 60, len(there.rows) + 1)
    assert [len(row) for row in shown] == [2 if at == there.row_number else 1 for at in range(len(shown))]


def test_facts_are_not_divided() -> None:
    lines = [line for row in texts(Session(example("forum.py")).cursor.first(), 64, 60) for line in row]
    assert "randn → BackendSelect → CPU" in {line.strip() for line in lines}
    assert not any(line.rstrip().endswith(("○", "→", ":")) for line in lines)


async def test_a_click_on_a_further_line_goes_to_its_row() -> None:
    trace = run(Code(LONG)).trace
    async with stepper(trace, (80, 40), step=0, level=1) as reader:
        further = next(at for at, row in enumerate(reader.screen) if "a_long_name_of_a_tensor)" in row)
        assert not reader.screen[further].lstrip().startswith("3 ")
        await reader.pilot.click(offset=(30, further))
        await reader.pilot.pause()
        assert reader.app.session.cursor.row_number == 2
        lit = [at for at, row in enumerate(reader.screen) if row.startswith("▶")]
        assert len(lit) == 1, "only the first line has the sign"


async def test_the_list_changes_between_wrapped_and_cut() -> None:
    async with stepper(example("forum.py"), (120, 40), level=1) as reader:
        assert reader.sees("← 3 Nodes run   x.grad: [2, 2] cuda")
        before = reader.screen
        await reader.press("plus", "plus")
        await reader.press("minus", "minus")
        assert reader.screen[8:20] == before[8:20]
