"""What is compared of an event: all of its fields but those that only count."""

from __future__ import annotations

import typing
from typing import Any

import msgspec
import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.comparison import event_facts
from dispatchviz.explain.comparison.event_facts import TEXT, pairing, values, way

KINDS = typing.get_args(ev.AnyEvent)
COUNTED = event_facts._COUNTED


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_no_number_that_only_counts_is_compared_unseen(kind: type[ev.Event]) -> None:
    """A field that holds such numbers beside others is taken apart, or left out with a reason."""
    for name, written in kind.__annotations__.items():
        counts = any(counted in written for counted in COUNTED)
        known = (kind, name) in event_facts._TAKEN_APART or (kind, name) in event_facts._LEFT_OUT
        assert not counts or written in COUNTED or written in event_facts._BY_TYPE or known or kind in TEXT, name


def test_tables_name_fields_that_exist() -> None:
    tables: tuple[Any, ...] = (*event_facts._LEFT_OUT, *event_facts._TAKEN_APART, *event_facts.VALUES)
    pairs = {(kind, name) for kind, names in event_facts._PAIRED_BY.items() for name in names}
    named: set[tuple[Any, str]] = {*tables, *pairs}
    for kind, name in named:
        assert name in kind.__struct_fields__, (kind, name)


def test_numbers_change_nothing() -> None:
    one = ev.KeySetComputed(5, 4, (("self", 1, 7), ("other", 2, 9)), 0, 0, 0, 15)
    other = msgspec.structs.replace(one, seq=8, parent=7, arguments=(("self", 4, 7), ("other", 4, 9)))
    assert way(ev.KeySetComputed)(one) == way(ev.KeySetComputed)(other)
    assert way(ev.KeySetComputed)(one) != way(ev.KeySetComputed)(msgspec.structs.replace(one, excluded=1))


def test_values_are_apart_from_the_way() -> None:
    one = ev.BindingEntered(1, 0, "torch.add", "f", "s", 1, (("input", "t3"), ("alpha", "1")), "aten::add.Tensor")
    renamed = msgspec.structs.replace(one, arguments=(("input", "t5"), ("alpha", "1")))
    other = msgspec.structs.replace(one, arguments=(("input", "t3"), ("alpha", "2")))
    had = values(ev.BindingEntered)
    assert had is not None
    assert had(one) == had(renamed) != had(other)
    assert way(ev.BindingEntered)(one) == way(ev.BindingEntered)(other)
    assert pairing(ev.BindingEntered)(one) == "torch.add"
