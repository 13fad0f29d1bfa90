"""Tests of styled text of any length, and of the arithmetic of scrolling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.shown_text import JOINER, shown
from dispatchviz.tui.widgets.viewport import Viewport, title_row
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.panes import source_pane
from dispatchviz.views.screen_bars import header_rows, needed_rows, why_rows
from dispatchviz.views.text import code_colors
from dispatchviz.views.text.line_fitting import LONGEST, columns, cut_row, cut_text, fit, paragraphs, wrap
from dispatchviz.views.text.styled_line import line

from .screens import stepper
from .synthetic import Tape, awkward

AWKWARD = ["[/]", "[a]", "f[N]", "[2, 3]", "[bold]x[/bold]", "\x1b[31mred", "a\tb\nc", "日本語", "\u202eabc", ""]


@pytest.mark.parametrize("text", ["[/]", "[a]", "f[N]", "[2, 3]", "日本語", "x → y"])
def test_printable_text_is_unchanged(text: str) -> None:
    assert line(text, (text, "dim")).plain == text * 2


def test_control_characters_are_made_visible() -> None:
    row = line("\x1b[31m", ("a\nb", "dim"), "\u202e", value="\x9b31m")
    assert row.plain == r"\x1b[31ma\nb\u202e"
    assert row.value == r"\x9b31m"


@given(st.text(), st.integers(0, 30))
def test_a_fitted_row_is_printable_and_no_wider(text: str, width: int) -> None:
    row = line((text, "dim"), "tail")
    fitted = fit(row, width)
    assert shown(fitted.plain.rstrip(JOINER)) == fitted.plain.rstrip(JOINER)
    assert fitted.width <= width
    assert fitted is row if row.width <= width else fitted.plain.endswith("…") or width == 0


@given(
    st.lists(st.tuples(st.text(st.characters(categories=["L", "N", "P"])), st.sampled_from(["", "dim"]))),
    st.integers(4, 40),
)
def test_wrapping_keeps_all_words_within_the_width(words: list[tuple[str, str]], width: int) -> None:
    row = line(*((word + " ", role) for word, role in words), indent=2, key="k", here=True)
    rows = wrap(row, width)
    assert "".join(part.plain for part in rows).replace(" ", "") == row.plain.replace(" ", "")
    assert all(part.width <= width for part in rows) or any(cell_len(char) > 1 for char in row.plain)
    assert [part.key for part in rows] == ["k", *[""] * (len(rows) - 1)]
    assert [part.here for part in rows] == [True, *[False] * (len(rows) - 1)]


def test_wrapping_breaks_between_words_and_indents() -> None:
    rows = wrap(line("one two ", ("three four", "bold"), indent=2), 9)
    assert [row.plain for row in rows] == ["one two", "  three", "  four"]
    assert rows[1].spans[-1] == ("three", "bold")


def test_wrapping_keeps_a_word_of_several_spans_together() -> None:
    rows = wrap(line("all of ", ("x.grad", "keycap"), ". Then", indent=1), 10)
    assert [row.plain for row in rows] == ["all of", " x.grad.", " Then"]
    assert [row.plain for row in wrap(line("a ", ("long", "dim"), "word"), 7)] == ["a long", "word"]


def test_cut_row_is_not_wrapped() -> None:
    assert [row.plain for row in wrap(line("one two three", cut=True), 9)] == ["one two …"]


def test_paragraphs_end_in_an_ellipsis_when_rows_are_missing() -> None:
    rows = paragraphs([line("one two three four five")], 8, 2)
    assert [row.plain for row in rows] == ["one two", "three …"]
    assert [row.plain for row in paragraphs([line("one two")], 8, 2)] == ["one two"]


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert columns([["a", "bb", "c"], ["日本", "b", "cc"]]) == [["a   ", "bb", "c"], ["日本", "b ", "cc"]]
    assert columns([]) == []


@pytest.mark.parametrize("text", AWKWARD)
def test_awkward_text_fits_every_width(text: str) -> None:
    for width in range(1, 12):
        assert all(row.plain == shown(row.plain) for row in wrap(line(text), width))


def test_cut_text_shows_the_number_of_omitted_characters() -> None:
    assert cut_text("abc", 3) == "abc"
    assert cut_text("abcd", 3) == "abc… (1 more characters)"
    row = line(("ab", "bold"), ("cdef", "dim"), ("ghi", ""), key="k")
    assert cut_row(row, 9) is row
    cut = cut_row(row, 4)
    assert (cut.plain, cut.spans[:2], cut.key) == ("abcd… (5 more characters)", (("ab", "bold"), ("cd", "dim")), "k")


def table_in_one_line() -> Trace:
    numbers = ", ".join(map(str, range(8_000)))
    tape = Tape()
    for number in (1, 2, 3):
        with tape.within(ev.SourceLine, "forum.py", number):
            tape.add(ev.Printed, "x")
    return tape.trace(text=f"import torch\nx = [{numbers}]\ny = 1\n")


def test_a_source_line_of_40_000_characters_is_cut_before_it_is_colored() -> None:
    code_colors.load()
    made = source_pane.rows(table_in_one_line(), 2, 80)
    assert sum(len(row.spans) for row in made) < 2 * LONGEST
    assert max(len(row.plain) for row in made) < LONGEST + 100
    assert "more characters)" in "".join(row.plain for row in made)


@pytest.mark.parametrize("at", [0, 1, 3, 5])
def test_bars_have_a_limited_number_of_rows(at: int) -> None:
    cursor = Cursor(awkward("word日本 " * 20_000), at)
    assert sum(len(row.plain) for row in (*needed_rows(cursor, (), 100), *header_rows(cursor, 100))) < 20_000


def test_a_bar_that_is_too_small_has_one_ellipsis() -> None:
    cursor, needed = Cursor(awkward("word"), 0), [line("one two three four five"), line("six")]
    for width in (25, 40):
        assert why_rows(cursor, needed, width, 1)[0].plain.count("…") == 1
    assert why_rows(cursor, needed, 40, 1)[0].plain == "one two three four five … w shows all"


def test_header_has_no_empty_row() -> None:
    trace = awkward("word")
    for width in range(20, 200):
        assert all(row.plain.strip() for row in header_rows(Cursor(trace, 0), width))


@pytest.mark.long
async def test_a_text_of_100_000_characters_everywhere_is_stepped_through() -> None:
    async with stepper(awkward("word日本 " * 15_000)) as reader:
        await reader.press("g", *"ssssssss")
        await reader.press("w", "escape", "2", "enter")
        assert reader.at == 8


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


def test_scroll_bar_length_matches_the_visible_part() -> None:
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
