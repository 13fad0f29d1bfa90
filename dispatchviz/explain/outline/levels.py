"""The levels of detail of a list of steps: the kinds of events that are rows at each level."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import KINDS
from dispatchviz.explain.trace_index.folded_steps import shown_ranges


class Level(NamedTuple):
    """The steps that are rows."""

    name: str
    kinds: tuple[type[ev.Event], ...] | None
    """The kinds of events, or None for every step."""
    help: str
    """The text that describes the level to the reader."""


def _kinds(*levels: str) -> tuple[type[ev.Event], ...]:
    return tuple([kind for kind, record in KINDS.items() if record.level in levels])


LEVELS = (
    Level("lines", _kinds("lines"), "Lines of the program, modules, what it prints, errors"),
    Level("calls", _kinds("lines", "calls"), "Calls, redispatches, Nodes, the engine's Nodes, modes"),
    Level("keys", _kinds("lines", "calls", "keys"), "Also key sets, skipped keys, table entries, kernels, guards"),
    Level("all", None, "Every step"),
)
"""The levels, from few steps to all."""

DEFAULT, ALL = 1, 3


def steps_at(trace: Trace, level: int) -> Sequence[int]:
    """Return the steps of a level, in order. Steps that ``folded_steps.py`` folds are only in the last level."""
    kinds = LEVELS[level].kinds
    if kinds is None:
        return range(len(trace))
    of_kind, code = trace.columns.of_kind, trace.columns.code
    steps = array("i")
    for kind in kinds:
        steps.extend(of_kind.get(code(kind), ()))
    return _unfolded(trace, array("i", sorted(steps)))


def _unfolded(trace: Trace, steps: array[int]) -> array[int]:
    kept = array("i")
    for each in shown_ranges(trace):
        kept.extend(steps[bisect_left(steps, each.start) : bisect_left(steps, each.stop)])
    return kept
