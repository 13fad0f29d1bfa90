"""Styled text: nothing vanishes, nothing raises, nothing reaches the terminal as a command."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from dispatchviz.foundation.shown_text import JOINER, shown
from dispatchviz.views.text.line_fitting import columns, fit, paragraphs, wrap
from dispatchviz.views.text.styled_line import line

AWKWARD = ["[/]", "[a]", "f[N]", "[2, 3]", "[bold]x[/bold]", "\x1b[31mred", "a\tb\nc", "日本語", "\u202eabc", ""]


@pytest.mark.parametrize("text", ["[/]", "[a]", "f[N]", "[2, 3]", "日本語", "x → y"])
def test_printable_text_stays_as_it_is(text: str) -> None:
    assert line(text, (text, "dim")).plain == text * 2


def test_controls_are_shown() -> None:
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
def test_wrapping_loses_no_word_and_keeps_to_the_width(words: list[tuple[str, str]], width: int) -> None:
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


def test_a_row_that_is_to_be_cut_is_not_wrapped() -> None:
    assert [row.plain for row in wrap(line("one two three", cut=True), 9)] == ["one two …"]


def test_paragraphs_end_in_an_ellipsis_when_rows_are_missing() -> None:
    rows = paragraphs([line("one two three four five")], 8, 2)
    assert [row.plain for row in rows] == ["one two", "three …"]
    assert [row.plain for row in paragraphs([line("one two")], 8, 2)] == ["one two"]


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert columns([["a", "bb", "c"], ["日本", "b", "cc"]]) == [["a   ", "bb", "c"], ["日本", "b ", "cc"]]
    assert columns([]) == []


@pytest.mark.parametrize("text", AWKWARD)
def test_every_width_of_awkward_text(text: str) -> None:
    for width in range(1, 12):
        assert all(row.plain == shown(row.plain) for row in wrap(line(text), width))
