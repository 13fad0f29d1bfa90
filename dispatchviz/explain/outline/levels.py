"""How much of a trace a list of steps has: which kinds of events are rows at which level."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.folded_steps import shown_ranges

LINES: tuple[type[ev.Event], ...] = (
    ev.SourceLine,
    ev.Printed,
    ev.Warned,
    ev.ErrorRaised,
    ev.ProgramRaised,
    ev.Unknown,
)
CALLS: tuple[type[ev.Event], ...] = (
    *LINES,
    ev.Dispatched,
    ev.TorchDispatchEntered,
    ev.FunctionEntered,
    ev.TensorFormatted,
    ev.NodeCreated,
    ev.NoNodeMade,
    ev.BackwardStarted,
    ev.NodeStarted,
    ev.GradientAccumulated,
    ev.HookRan,
    ev.AnomalyFound,
    ev.RequiresGradSet,
    ev.GradModeChanged,
    ev.InferenceModeChanged,
    ev.AutocastChanged,
    ev.AutocastCast,
    ev.DynamicLayerPushed,
    ev.OperatorDefined,
    ev.KernelRegistered,
)
KEYS: tuple[type[ev.Event], ...] = (
    *CALLS,
    ev.BindingEntered,
    ev.KeySetComputed,
    ev.FallthroughSkipped,
    ev.KernelSelected,
    ev.KernelEntered,
    ev.GuardEntered,
)


class Level(NamedTuple):
    """Which steps are rows."""

    name: str
    kinds: tuple[type[ev.Event], ...] | None
    """None: every step."""
    told: str
    """What is listed, for the reader."""


LEVELS = (
    Level("lines", LINES, "Lines of the program, what it prints, errors"),
    Level("calls", CALLS, "Calls, redispatches, Nodes, the engine's Nodes, modes"),
    Level("keys", KEYS, "Also key sets, skipped keys, cells, kernels, guards"),
    Level("all", None, "Every step"),
)
"""From few steps to all."""

DEFAULT, ALL = 1, 3


def steps_at(trace: Trace, level: int) -> Sequence[int]:
    """The steps of a level, in order; what printing a tensor takes is in none but the last."""
    kinds = LEVELS[level].kinds
    if kinds is None:
        return range(len(trace))
    of_kind, code = trace.columns.of_kind, trace.columns.code
    steps = array("i")
    for kind in kinds:
        steps.extend(of_kind.get(code(kind), ()))
    return _without_printing(trace, array("i", sorted(steps)))


def _without_printing(trace: Trace, steps: array[int]) -> array[int]:
    if not trace.steps_of(ev.TensorFormatted):
        return steps
    kept = array("i")
    for each in shown_ranges(trace):
        kept.extend(steps[bisect_left(steps, each.start) : bisect_left(steps, each.stop)])
    return kept
