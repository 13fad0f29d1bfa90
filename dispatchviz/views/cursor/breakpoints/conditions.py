"""Conditions on the fields of events: ``operator == aten::add.Tensor and depth > 2``.

A clause is a field, one of six comparisons, and a value as shown on the screen or in ``docs/lists/events.md``. ``and``
joins clauses. Nothing is evaluated as Python. Numbers are ordered; other values are only equal or different.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace

OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt
}  # fmt: skip

OF_EVERY_STEP = ("depth", "line", "step")
"""The fields that a condition can test at any step, in addition to the fields of its event."""

MISSING = object()
"""The value of a field that an event does not have."""


class Clause(Struct, frozen=True):
    """One comparison in a condition."""

    field: str
    operator: str
    value: str

    def holds(self, value: object) -> bool:
        """Return whether the value of a field satisfies the clause."""
        if value is MISSING:
            return False
        if isinstance(value, int) and not isinstance(value, bool):
            wanted = number(self.value)
            return OPERATORS[self.operator](value, wanted) if wanted is not None else self.operator == "!="
        same = shown_value(value).casefold() == _plain(self.value).casefold()
        return same == (self.operator == "==") if self.operator in ("==", "!=") else False

    def __str__(self) -> str:
        return f"{self.field} {self.operator} {self.value}"


def value_of(trace: Trace, step: int, field: str) -> object:
    """The value of a field of a step's event, or of a field that every step has. No event is read if a column has the
    value.
    """
    columns = trace.columns
    if field == "step":
        return step
    if field == "depth":
        return columns.depths[step]
    if field == "line":
        return _line(trace, step)
    return getattr(trace[step], field, MISSING)


def _line(trace: Trace, step: int) -> object:
    own = trace.columns.lines[step]
    event = trace[own] if own >= 0 else None
    return event.line if isinstance(event, ev.SourceLine) else MISSING


def shown_value(value: object) -> str:
    """A value as a condition writes it: ``none``, ``true``, ``[2, 2]``."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return _plain(str(value).replace(",)", ")")) if isinstance(value, tuple) else str(value)


def _plain(text: str) -> str:
    """Remove quotes; write a list without blanks and in one kind of brackets."""
    text = text[1:-1] if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0] else text
    return f"[{''.join(text[1:-1].split())}]" if LIST.fullmatch(text) else text


LIST = re.compile(r"\[.*\]|\(.*\)", re.DOTALL)

NUMBER = re.compile(r"[tn]?(-?[0-9]{1,18})")
"""The pattern of a number. Tensors and Nodes are written ``t3`` and ``n3``."""


def number(text: str) -> int | None:
    """Parse a number. A raw key set may be written ``0x10002``."""
    if (plain := NUMBER.fullmatch(text)) is not None:
        return int(plain[1])
    return int(text, 16) if HEXADECIMAL.fullmatch(text) else None


HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]{1,16}")

CLAUSE = re.compile(r"(?P<field>[A-Za-z_]+)\s*(?P<operator>==|!=|<=|>=|<|>)\s*(?P<value>\S.*)")


def clauses_of(text: str) -> tuple[Clause, ...] | str:
    """Parse a condition. Return its clauses, or the part that is not a clause."""
    found = []
    for part in re.split(r"\s+and\s+", text.strip()):
        clause = CLAUSE.fullmatch(part.strip())
        if clause is None:
            return part.strip()
        found.append(Clause(clause["field"].casefold(), clause["operator"], clause["value"].strip()))
    return tuple(found)


def fields_of(kinds: set[str]) -> list[str]:
    """The fields of events of some kinds."""
    found = [name for kind in ev.KINDS if kind.__name__ in kinds for name in kind.__struct_fields__]
    return [name for name in dict.fromkeys(found) if name not in ("seq", "parent")]
