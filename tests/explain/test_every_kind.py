"""No kind of event is without a label, a sign, a sentence and a rule."""

from __future__ import annotations

import types
import typing
from typing import Any

import msgspec
import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import KINDS as RECORDS
from dispatchviz.explain.kinds.all_kinds import label, rule, sign, why_here
from dispatchviz.explain.kinds.kind import SIGNS

from .founding import founding

KINDS = typing.get_args(ev.AnyEvent)


def plain(kind: Any) -> Any:
    """A value of a field's type."""
    if typing.get_origin(kind) is typing.Annotated:
        return plain(typing.get_args(kind)[0])
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return None
    if typing.get_origin(kind) is typing.Literal:
        return typing.get_args(kind)[0]
    return {int: 0, str: "word", bool: False}.get(kind, ())


def with_one_of(kind: type[ev.Event]) -> Trace:
    """The founding trace with an event of a kind at its end."""
    trace = founding()
    fields = [plain(field.type) for field in msgspec.structs.fields(kind)[2:]]
    added: Any = kind(len(trace), None, *fields)
    return Trace(trace.header, [*trace.events, added])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_is_explained(kind: type[ev.Event]) -> None:
    trace = with_one_of(kind)
    text = why_here(trace, len(trace) - 1)
    assert text[0].isupper() or text.startswith(("word", "t0", "x", "grad()"))
    assert "  " not in text
    assert label(trace, len(trace) - 1)
    assert sign(trace[-1]) in SIGNS.values()
    assert rule(trace[-1]).text.endswith(".")


def test_every_kind_has_one_record() -> None:
    assert set(RECORDS) == set(KINDS)
    assert all(kind is record.event for kind, record in RECORDS.items())


def test_signs_are_told_apart_without_colour() -> None:
    assert len(set(SIGNS.values())) == len(SIGNS)
    assert all(len(sign) == 1 for sign in SIGNS.values())


def test_every_step_of_the_founding_program_is_a_sentence() -> None:
    trace = founding()
    for event in trace:
        if not isinstance(event, ev.SourceLine):
            assert why_here(trace, event.seq).endswith("."), event
