"""Where the panes go: plain arithmetic from a screen size to rectangles, and which panes a step needs most.

Not here: Textual (``app.py`` moves the widgets), what the panes show (the ``*_pane`` modules).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dispatchviz.core.record import events as ev

STEPS, KEYS, CELL, CALLS, SOURCE, GRAPH = PANES = (1, 2, 3, 4, 5, 6)
"""Panes by the number that is their key."""

SMALLEST = (60, 15)
"""Below this the stepper is of no use; plain output is."""


NEEDED_BY_PANES = 12
"""Rows for panes, header and footer."""


class Box(NamedTuple):
    """A rectangle in cells."""

    x: int
    y: int
    width: int
    height: int


class Frame(NamedTuple):
    """What the panes share the screen with, in rows."""

    header: int = 1
    why: int = 5
    footer: int = 1


SHARE = {STEPS: 15, KEYS: 13, CELL: 9, CALLS: 7, SOURCE: 12, GRAPH: 12}
"""Rows that a pane would like; a column is divided in these proportions."""

NEEDED: dict[type[ev.Event], tuple[int, ...]] = {
    ev.SourceLine: (SOURCE,),
    ev.NameBound: (SOURCE,),
    ev.ProgramRaised: (SOURCE, CALLS),
    ev.BindingEntered: (CALLS, SOURCE),
    ev.Dispatched: (KEYS, CALLS),
    ev.KeySetComputed: (KEYS,),
    ev.FallthroughSkipped: (KEYS,),
    ev.KernelSelected: (CELL, KEYS),
    ev.KernelEntered: (SOURCE, CALLS),
    ev.KernelReturned: (CALLS, SOURCE),
    ev.TorchDispatchEntered: (CALLS, SOURCE),
    ev.TorchDispatchLeft: (CALLS, SOURCE),
    ev.GuardEntered: (KEYS, SOURCE),
    ev.GuardLeft: (KEYS, SOURCE),
    ev.DynamicLayerPushed: (KEYS, CALLS),
    ev.DynamicLayerPopped: (KEYS, CALLS),
    ev.NodeCreated: (GRAPH, SOURCE),
    ev.EdgesCollected: (GRAPH, SOURCE),
    ev.AttributeSaved: (GRAPH, SOURCE),
    ev.VariableSaved: (GRAPH, SOURCE),
    ev.VariableNotSaved: (GRAPH, SOURCE),
    ev.SavedTensorHookRan: (GRAPH, SOURCE),
    ev.AnomalyFound: (GRAPH, SOURCE),
    ev.AccumulatorMade: (GRAPH, SOURCE),
    ev.HistorySet: (GRAPH, SOURCE),
    ev.HistoryRebased: (GRAPH, SOURCE),
    ev.DualLevelEntered: (SOURCE, CALLS),
    ev.DualLevelLeft: (SOURCE, CALLS),
    ev.ForwardFormulaEntered: (SOURCE, CALLS),
    ev.TangentSet: (SOURCE, CALLS),
    ev.FunctionEntered: (SOURCE, CALLS),
    ev.FunctionOutput: (GRAPH, SOURCE),
    ev.BackwardStarted: (GRAPH, SOURCE),
    ev.DependenciesCounted: (GRAPH, CALLS),
    ev.ExecInfoPopulated: (GRAPH, CALLS),
    ev.DependencyMet: (GRAPH, CALLS),
    ev.NodeQueued: (GRAPH, CALLS),
    ev.NodeSkipped: (GRAPH, CALLS),
    ev.FormulaSkipped: (GRAPH, SOURCE),
    ev.NodeStarted: (GRAPH, SOURCE),
    ev.NodeFinished: (GRAPH, SOURCE),
    ev.GradientBuffered: (GRAPH, CALLS),
    ev.GradientAccumulated: (GRAPH, CALLS),
    ev.ErrorRaised: (CALLS, SOURCE),
}
"""The panes that tell most about a kind of step, best first."""

OTHERWISE = (SOURCE, KEYS, CALLS, GRAPH, CELL)


def why_height(height: int, needed: int) -> int:
    """Rows for what is said of a step: always the same few, more where its text needs them, at most half the screen
    and never those that the panes need."""
    return max(min(needed, height // 2, height - NEEDED_BY_PANES), 5 if height >= 28 else 4)


def slots(width: int, height: int) -> int:
    """How many panes fit on a screen of this size beside the steps."""
    rows = height - sum(Frame())
    if width < 96:
        return 1 if rows < 34 else 2
    if rows < 20:
        return 1
    return 2 if rows < 30 else 5


def chosen(event: ev.Event, pinned: int | None, number: int) -> list[int]:
    """The panes to show beside the steps: the reader's own choice, then what this kind of step needs."""
    wanted = (*((pinned,) if pinned else ()), *NEEDED.get(type(event), ()), *OTHERWISE)
    return sorted([pane for pane in dict.fromkeys(wanted) if pane != STEPS][:number])


def arrange(width: int, height: int, shown: Sequence[int], frame: Frame, zoomed: int | None = None) -> dict[int, Box]:
    """A rectangle for every pane that is on the screen."""
    body = Box(0, frame.header + frame.why, width, max(height - sum(frame), 0))
    if zoomed:
        return {zoomed: body}
    if width < 96:
        return _stacked((STEPS, *shown), body, {**SHARE, STEPS: 8})
    if len(shown) < 5:
        left = max(40, width * 2 // 5)
        return _stacked((STEPS,), body._replace(width=left)) | _stacked(shown, _right_of(left, body))
    if width < 170:
        left = max(40, width * 2 // 5)
        return _stacked((STEPS, CALLS, GRAPH), body._replace(width=left)) | _stacked(
            (KEYS, CELL, SOURCE), _right_of(left, body)
        )
    left, middle = width * 3 // 10, width * 7 // 20
    inner = Box(left + 1, body.y, middle, body.height)
    return (
        _stacked((STEPS,), body._replace(width=left))
        | _stacked((KEYS, CELL, CALLS), inner)
        | _stacked((SOURCE, GRAPH), _right_of(left + 1 + middle, body))
    )


def _right_of(x: int, body: Box) -> Box:
    return Box(x + 1, body.y, body.width - x - 1, body.height)


def _stacked(panes: Iterable[int], box: Box, share: Mapping[int, int] = SHARE) -> dict[int, Box]:
    """A column: the rows are shared out in proportion, none is lost."""
    panes = tuple(panes)
    total, passed, boxes = sum(share[pane] for pane in panes), 0, {}
    for pane in panes:
        top = box.height * passed // total
        passed += share[pane]
        boxes[pane] = Box(box.x, box.y + top, box.width, box.height * passed // total - top)
    return boxes
