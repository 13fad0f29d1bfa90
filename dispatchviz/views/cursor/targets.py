"""The targets of jumps: the nearest Node, redispatch, guard, error, iteration and so on, on one side of the cursor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.outline.line_rows import LineRows, RowKind
from dispatchviz.explain.trace_index.lookups import neighbor, next_of_kinds
from dispatchviz.views.cursor.cursor import Cursor

Find = Callable[[Cursor, bool], int | None]
"""A function that finds the nearest step after or before the cursor."""


def _of(*kinds: type[ev.Event]) -> Find:
    return lambda cursor, forward: next_of_kinds(cursor.trace, kinds, cursor.at, forward)


def _new_node(cursor: Cursor, forward: bool) -> int | None:
    return _first(cursor, ev.NodeCreated, forward, _is_new)


def _redispatch(cursor: Cursor, forward: bool) -> int | None:
    return _first(cursor, ev.Dispatched, forward, _is_redispatch)


def _first(cursor: Cursor, kind: type[ev.Event], forward: bool, chosen: Callable[[Trace, int], bool]) -> int | None:
    step = cursor.at
    while (found := next_of_kinds(cursor.trace, (kind,), step, forward)) is not None:
        if chosen(cursor.trace, found):
            return found
        step = found
    return None


def _is_new(trace: Trace, step: int) -> bool:
    event = trace[step]
    return isinstance(event, ev.NodeCreated) and not event.known


def _is_redispatch(trace: Trace, step: int) -> bool:
    """Return whether a step is a redispatch. A call's next event is its key set, so most events need not be read."""
    columns = trace.columns
    if step + 1 < len(trace) and columns.kinds[step + 1] == columns.code(ev.KeySetComputed):
        return False
    event = trace[step]
    return isinstance(event, ev.Dispatched) and event.is_redispatch


def _of_rows(kind: RowKind) -> Find:
    def find(cursor: Cursor, forward: bool) -> int | None:
        return None if cursor.outline is None else neighbor(_begins(cursor.outline.lines, kind), cursor.at, forward)

    return find


@lru_cache(maxsize=8)
def _begins(lines: LineRows, kind: RowKind) -> Sequence[int]:
    return [begin for begin, each in zip(lines.begins, lines.kinds, strict=True) if each == kind]


TARGETS: Mapping[str, Find] = {
    "Node": _new_node,
    "backward Node": _of(ev.NodeStarted),
    "redispatch": _redispatch,
    "guard": _of(ev.GuardEntered),
    "accumulation": _of(ev.GradientAccumulated),
    "error or warning": _of(ev.ErrorRaised, ev.ProgramRaised, ev.Warned),
    "line": _of_rows(RowKind.STATEMENT),
    "iteration": _of_rows(RowKind.ITERATION),
    "call of your function": _of_rows(RowKind.CALL),
}
"""The targets, by the name that the keymap gives them."""
