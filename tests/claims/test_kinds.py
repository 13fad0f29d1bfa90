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
    """The examples of the page, from its programs and commands: searching all takes minutes."""
    return examples(NAMES - UNSEEN.keys(), among=named_in(PAGE.read_text("utf-8")))


def test_every_kind_is_defined_once() -> None:
    names = [kind.name for kind in KINDS]
    assert [name for name in names if names.count(name) > 1] == []


@pytest.mark.long
def test_every_kind_has_an_example(found: dict[str, Example]) -> None:
    """Otherwise ``python -m scripts.sentences`` looks for an example; if it finds none, the kind needs its own
    program.
    """
    assert found.keys() - NAMES == set()
    assert UNSEEN.keys() - NAMES == set()
    assert NAMES - found.keys() == UNSEEN.keys()


def test_unchecked_kind_has_a_reason(found: dict[str, Example]) -> None:
    """The list names nothing else: a kind that makes claims, or is gone, has to leave it."""
    without = {name for name, example in found.items() if not example.statement.claims}
    assert without - set(UNCHECKED_NAMES) == set()
    assert set(UNCHECKED_NAMES) - without - UNSEEN.keys() == set()
    assert len(UNCHECKED_NAMES) == len(set(UNCHECKED_NAMES))


def test_the_page_is_fresh(found: dict[str, Example]) -> None:
    """If it fails, run ``python -m scripts.sentences``."""
    assert PAGE.read_text("utf-8") == written(KINDS, found)
