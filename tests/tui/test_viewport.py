"""Scrolling as arithmetic: the rows in sight, and the bar beside them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dispatchviz.tui.widgets.viewport import Viewport, title_row
from dispatchviz.views.text.styled_line import line


@given(st.integers(1, 500), st.integers(2, 60), st.integers(0, 499), st.integers(0, 9))
def test_a_revealed_row_is_in_sight_with_rows_around_it(count: int, height: int, at: int, margin: int) -> None:
    at = min(at, count - 1)
    port = Viewport(count=count, width=20, height=height)
    port.scroll(count // 2)
    port.reveal(at, margin)
    around = min(margin, (port.rows - 1) // 2)
    assert all(port.y_of(row) is not None for row in range(max(at - around, 0), min(at + around, count - 1) + 1))
    assert not port.reveal(at, margin)


@given(st.integers(0, 300), st.integers(2, 60), st.integers(-50, 400))
def test_scrolling_ends_at_the_ends(count: int, height: int, top: int) -> None:
    port = Viewport(count=count, width=20, height=height)
    port.scroll(top)
    assert 0 <= port.top <= max(count - port.rows, 0)
    shown = [row for y in range(height) if (row := port.row_at(y)) is not None]
    assert shown == list(range(port.top, port.top + min(count, port.rows)))
    assert [port.y_of(row) for row in shown] == list(range(1, len(shown) + 1))


def test_the_bar_is_as_long_as_the_part_in_sight() -> None:
    port = Viewport(count=40, width=20, height=11)
    assert "".join(port.bar_cell(y).plain for y in range(1, 11)) == "┃┃││││││││"
    port.scroll(99)
    assert "".join(port.bar_cell(y).plain for y in range(1, 11)) == "││││││││┃┃"
    assert Viewport(count=10, width=20, height=11).bar_cell(1).plain == ""


def test_a_title_fills_its_row() -> None:
    assert title_row("2", "Key set", False, 20).plain == "─ 2 Key set ───────"
    assert title_row("", "Help", True, 20).plain == "▌ Help ────────────"
    said = title_row("6", "Backward graph", False, 50, line("none yet, next at step 9"))
    assert said.plain == "─ 6 Backward graph: none yet, next at step 9 ────"
