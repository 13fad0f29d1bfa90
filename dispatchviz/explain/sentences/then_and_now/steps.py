"""Which steps a statement or a reason is about: a kind of event, and what its fields must be."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

from dispatchviz.core.record import events as ev


class Steps(NamedTuple):
    """Events of a kind whose fields have some values; a text is a pattern: ``VariableType::*``."""

    kind: type[ev.Event]
    fields: tuple[tuple[str, str | int], ...]


def seen(kind: type[ev.Event], **fields: str | int) -> Steps:
    """``seen(ev.Dispatched, operator="aten::randn", how="call*")``."""
    return Steps(kind, tuple(fields.items()))


def fits(steps: Steps, event: ev.Event) -> bool:
    """Whether an event is one of those."""
    return isinstance(event, steps.kind) and all(_is(getattr(event, name), wanted) for name, wanted in steps.fields)


def _is(value: object, wanted: str | int) -> bool:
    if isinstance(wanted, str):
        return isinstance(value, str) and fnmatchcase(value, wanted)
    return value == wanted
