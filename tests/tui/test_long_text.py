"""Text of any length costs no more than what is seen of it."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.views.bars.header_bar import header_rows
from dispatchviz.views.bars.why_bar import needed_rows
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.panes import source_pane
from dispatchviz.views.text import code_colours
from dispatchviz.views.text.long_text import LONGEST, cut_row, cut_text
from dispatchviz.views.text.styled_line import line

from .screens import Reader, read
from .synthetic import Tape, awkward


def test_what_is_cut_is_told() -> None:
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


def test_a_source_line_of_40_000_characters_is_cut_before_it_is_coloured() -> None:
    code_colours.load()
    made = source_pane.rows(table_in_one_line(), 2, 80)
    assert sum(len(row.spans) for row in made) < 2 * LONGEST
    assert max(len(row.plain) for row in made) < LONGEST + 100
    assert "more characters)" in "".join(row.plain for row in made)


@pytest.mark.parametrize("at", [0, 1, 3, 5])
def test_bars_have_no_more_rows_than_somebody_reads(at: int) -> None:
    cursor = Cursor(awkward("word日本 " * 20_000), at)
    assert sum(len(row.plain) for row in (*needed_rows(cursor, (), 100), *header_rows(cursor, 100))) < 20_000


@pytest.mark.long
def test_a_text_of_100_000_characters_everywhere_is_stepped_through() -> None:
    async def story(reader: Reader) -> None:
        await reader.press("g", *"ssssssss")
        await reader.press("w", "escape", "2", "enter")
        assert reader.at == 8

    read(awkward("word日本 " * 15_000), story)
