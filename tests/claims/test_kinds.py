"""Every kind of sentence is on the page of sentences, and is checked against PyTorch or has a reason why not."""

from __future__ import annotations

import pytest

from scripts.sentences.__main__ import PAGE
from scripts.sentences.examples import UNSEEN, Example, examples, named_in
from scripts.sentences.kinds import kinds
from scripts.sentences.page import written
from scripts.sentences.unchecked import UNCHECKED

KINDS = kinds()
NAMES = frozenset(kind.name for kind in KINDS)
UNCHECKED_NAMES = [name for names in UNCHECKED.values() for name in names]

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def found() -> dict[str, Example]:
    """Return the examples of the programs and commands that the page uses. A search over all programs takes minutes."""
    return examples(NAMES - UNSEEN.keys(), among=named_in(PAGE.read_text("utf-8")))


def test_every_kind_is_defined_once() -> None:
    names = [kind.name for kind in KINDS]
    assert [name for name in names if names.count(name) > 1] == []


@pytest.mark.long
def test_every_kind_has_a_program_or_command_with_its_sentence(found: dict[str, Example]) -> None:
    """If it fails, run ``python -m scripts.sentences`` to find a program. A kind that it does not find needs a new
    program.
    """
    assert found.keys() - NAMES == set()
    assert UNSEEN.keys() - NAMES == set()
    assert NAMES - found.keys() == UNSEEN.keys()


def test_every_kind_without_a_check_has_a_reason(found: dict[str, Example]) -> None:
    """The list contains no other kind. A kind that makes claims, or no longer exists, must leave it."""
    without = {name for name, example in found.items() if not example.statement.claims}
    assert without - set(UNCHECKED_NAMES) == set()
    assert set(UNCHECKED_NAMES) - without - UNSEEN.keys() == set()
    assert len(UNCHECKED_NAMES) == len(set(UNCHECKED_NAMES))


def test_the_page_is_fresh(found: dict[str, Example]) -> None:
    """If it fails, run ``python -m scripts.sentences``."""
    assert PAGE.read_text("utf-8") == written(KINDS, found)
