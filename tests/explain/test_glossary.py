"""The glossary: its terms are found in texts, its files are PyTorch's, the stepper and the documentation show it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.explain.glossary import TERMS, terms_in
from dispatchviz.views.details.glossary_rows import glossary_rows
from scripts.docs import glossary_page
from tests.explain.programs import traced
from tests.tui.screens import stepper

PROGRAM = "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\n"


def test_the_terms_are_in_order_and_find_themselves() -> None:
    assert [term.name.lower() for term in TERMS] == sorted(term.name.lower() for term in TERMS)
    assert [term.name for term in TERMS if term not in terms_in(term.name)] == []


def test_a_step_has_its_terms_first() -> None:
    trace = traced(PROGRAM)
    step = next(event.seq for event in trace if type(event).__name__ == "NodeCreated")
    rows = [row.plain for row in glossary_rows(trace, step)]
    here, others = rows.index("On this screen"), rows.index("Other terms")
    names = [term.name for term in TERMS for row in rows[here:others] if row.startswith(f"{term.name}  ")]
    assert "Node" in names
    assert "fallthrough" not in names
    assert sum(row.startswith(f"{term.name}  ") for term in TERMS for row in rows) == len(TERMS)


async def test_a_key_opens_it_and_closes_it() -> None:
    async with stepper(traced(PROGRAM)) as reader:
        await reader.press("V")
        assert "Glossary (Esc or q closes)" in "\n".join(reader.screen)
        await reader.press("V")
        assert "Glossary" not in "\n".join(reader.screen)


def test_the_page_is_up_to_date() -> None:
    assert glossary_page.PAGE.read_text("utf-8") == glossary_page.page()


@pytest.mark.torch
def test_the_files_are_those_of_pytorch() -> None:
    import torch

    headers = Path(torch.__file__).parent / "include"
    assert [term.file for term in TERMS if not (headers / term.file).exists()] == []
