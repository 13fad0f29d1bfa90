"""What many have read beside what is so, and why it is so: as rows, and over the stepper."""

from __future__ import annotations

import pytest

from dispatchviz.explain.sentences.then_and_now.reasons.all_reasons import REASONS
from dispatchviz.explain.sentences.then_and_now.statements.past_statements import STATEMENTS
from dispatchviz.testing import redispatch
from dispatchviz.views.details.then_and_now_rows import LOOKS, reason_rows, statement_rows
from tests.steps import step

from .screens import Reader, read
from .synthetic import forum


@pytest.mark.parametrize("width", [20, 76, 146])
def test_every_entry_has_its_rows_within_the_width(width: int) -> None:
    for entries, rows in ((STATEMENTS, statement_rows(forum(), 0, width)), (REASONS, reason_rows(forum(), 0, width))):
        assert sorted(row.key for row in rows if row.key) == sorted(entry.ident for entry in entries)
        texts = [row for row in rows if not row.key and all(role != "title" for _, role in row.spans)]
        assert max(row.width for row in texts) <= width
        text = "".join(row.plain for row in rows)
        assert all(entry.source.name.replace(" ", "") in text.replace(" ", "") for entry in entries)


def test_what_was_said_stands_beside_what_is_so_where_there_is_room() -> None:
    wide = [row.plain for row in statement_rows(forum(), 0, 100)]
    assert any("2020: " in row and "2.13: " in row for row in wide)
    narrow = [row.plain for row in statement_rows(forum(), 0, 60)]
    assert not any("2020: " in row and "2.13: " in row for row in narrow)


def test_every_verdict_has_a_sign_of_its_own() -> None:
    assert len({sign for sign, _ in LOOKS.values()}) == len(LOOKS)
    assert {statement.verdict for statement in STATEMENTS} == LOOKS.keys()


def test_the_key_opens_both_and_a_choice_leads_to_its_step() -> None:
    trace = forum()
    at = step(trace, redispatch("aten::add.Tensor"))

    async def story(reader: Reader) -> None:
        await reader.press("Y")
        assert reader.sees("Then and now", "Tab: why it is so", "At this step")
        assert reader.sees("▶ ≠ How the backend is called  no longer so", "Nothing is computed anew", "2020: ")
        await reader.press("tab")
        assert reader.sees("Why it is so", "Tab: then and now", "▶ Why redispatch, and not call again?")
        await reader.press("end")
        assert reader.sees("shown by: dispatchviz run")
        await reader.press("enter")
        assert reader.at == at
        assert reader.sees("No step near this one shows that")
        await reader.press("Y", "down", "down", "down", "down", "enter")
        assert reader.at != at
        assert reader.sees("Steps")
        await reader.press("Y", "Y")
        assert not reader.sees("Then and now")

    read(trace, story, size=(80, 24), step=at)
