"""How much of a trace a list of steps has: which kinds of events are rows at which level."""

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
    """Which steps are rows."""

    name: str
    kinds: tuple[type[ev.Event], ...] | None
    """None: every step."""
    told: str
    """What is listed, for the reader."""


def _kinds(*levels: str) -> tuple[type[ev.Event], ...]:
    return tuple([kind for kind, record in KINDS.items() if record.level in levels])


LEVELS = (
    Level("lines", _kinds("lines"), "Lines of the program, modules, what it prints, errors"),
    Level("calls", _kinds("lines", "calls"), "Calls, redispatches, Nodes, the engine's Nodes, modes"),
    Level("keys", _kinds("lines", "calls", "keys"), "Also key sets, skipped keys, table entries, kernels, guards"),
    Level("all", None, "Every step"),
)
"""From few steps to all."""

DEFAULT, ALL = 1, 3


def steps_at(trace: Trace, level: int) -> Sequence[int]:
    """The steps of a level, in order; what ``folded_steps.py`` folds is in none but the last."""
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
