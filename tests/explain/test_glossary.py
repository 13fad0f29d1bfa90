"""The glossary: its terms are found in texts, its files are PyTorch's, the stepper and the documentation show it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.explain.sentences.glossary import TERMS, terms_in, uses
from dispatchviz.views.details.glossary_rows import glossary_rows
from dispatchviz.views.layout.screen_plan import Scene
from dispatchviz.views.session import Session
from dispatchviz.views.text.marked_terms import TERM_ROLES, with_terms
from dispatchviz.views.text.roles import ROLES
from dispatchviz.views.text.styled_line import Line, line
from scripts.docs import glossary_page
from tests.explain.programs import traced
from tests.tui.programs import example
from tests.tui.screens import stepper

PROGRAM = "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\n"


def test_the_terms_are_in_order_and_find_themselves() -> None:
    assert [term.name.lower() for term in TERMS] == sorted(term.name.lower() for term in TERMS)
    assert [term.name for term in TERMS if term not in terms_in(term.name)] == []
    assert [use.term for term in TERMS for use in uses(term.name)] == list(TERMS)


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


def marked(*rows: Line) -> list[str]:
    """The marked words; one may be cut where its row ends."""
    spans = [span for row in rows for span in (*row.spans, (" ", ""))]
    text = "".join(text if role in TERM_ROLES.values() or not text.strip() else "|" for text, role in spans)
    return [word for part in text.split("|") if (word := " ".join(part.split()))]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_a_screen_marks_the_first_use_of_each_term(size: tuple[int, int]) -> None:
    trace, found = example("forum.py"), set[str]()
    for at in range(0, len(trace), 3):
        why = Scene(Session(trace, at).cursor, opened_at=0).plan(*size).bars["why"]
        words = marked(*why)
        names = [use.term.name for word in words for use in uses(word)]
        assert len(names) == len(set(names)) == len(words)
        found.update(names)
    assert {"dispatch key", "key set", "kernel", "Node", "guard"} <= found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("AutogradCUDA is the highest key left; no key depends on that.", ["key", "key"]),
        ("The key set of the call, and its keys.", ["key set", "keys"]),
        ("A boxed kernel is a kernel.", ["boxed kernel", "kernel"]),
        ("line 4 (key = table[kernel]) changed it: the version is 1.", ["version"]),
        ('PyTorch says "a leaf Variable that requires grad": a leaf.', ["leaf"]),
        ("f(key), x.version, guard[0], version=1 and `leaf`", []),
        ("The guard ends and restores the sets that it saved.", ["guard"]),
        ("The Node's sequence number.", ["Node", "sequence number"]),
    ],
)
def test_code_and_quotations_are_not_marked(text: str, words: list[str]) -> None:
    assert [text[use.begin : use.end] for use in uses(text)] == words


def test_a_variable_is_no_term() -> None:
    trace = traced("import torch\nkernel = torch.ones(2, requires_grad=True)\nleaf = kernel * 2\n")
    row = with_terms(trace, line("The kernel of mul makes a Node; leaf is not a leaf."))
    assert marked(row) == ["Node"]


def test_a_key_of_the_keyboard_is_no_term() -> None:
    trace = traced(PROGRAM)
    assert marked(with_terms(trace, line(("?", "keycap"), " keys"))) == []


def test_a_mark_needs_no_color() -> None:
    assert [ROLES[role] for role in TERM_ROLES.values() if ROLES[role][0] or "underline" not in ROLES[role][1]] == []
