"""The panes that a step needs most, by its kind of event, and those of them that a screen has room for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.views.layout.pane_layout import (
    CALLS,
    CELL,
    ENGINE,
    GRAPH,
    KEYS,
    NODE,
    OUTPUT,
    SOURCE,
    STEPS,
    STRUCTURED,
    TABLE,
    TENSORS,
    THREAD,
    Frame,
    columns,
    least,
    steps_rows,
)

NEEDED: dict[type[ev.Event], tuple[int, ...]] = {
    ev.SourceLine: (SOURCE, TENSORS),
    ev.NameBound: (SOURCE, TENSORS),
    ev.Printed: (OUTPUT, SOURCE),
    ev.TensorFormatted: (SOURCE, OUTPUT),
    ev.ProgramRaised: (SOURCE, CALLS),
    ev.Warned: (SOURCE, CALLS),
    ev.BindingEntered: (CALLS, SOURCE),
    ev.Dispatched: (KEYS, CALLS),
    ev.KeySetComputed: (KEYS, CALLS),
    ev.FallthroughSkipped: (KEYS, CALLS),
    ev.KernelSelected: (CELL, KEYS),
    ev.KernelEntered: (SOURCE, CALLS),
    ev.KernelReturned: (CALLS, SOURCE),
    ev.MetaEntered: (STRUCTURED, SOURCE),
    ev.OutputAllocated: (STRUCTURED, TENSORS),
    ev.ImplEntered: (STRUCTURED, SOURCE),
    ev.ProxyCopied: (STRUCTURED, SOURCE),
    ev.TorchDispatchEntered: (CALLS, SOURCE),
    ev.TorchDispatchLeft: (CALLS, SOURCE),
    ev.GuardEntered: (THREAD, SOURCE),
    ev.GuardLeft: (THREAD, SOURCE),
    ev.GradModeChanged: (THREAD, SOURCE),
    ev.InferenceModeChanged: (THREAD, SOURCE),
    ev.AutocastChanged: (THREAD, SOURCE),
    ev.AutocastCast: (TENSORS, THREAD),
    ev.DynamicLayerPushed: (THREAD, CALLS),
    ev.DynamicLayerPopped: (THREAD, CALLS),
    ev.TensorCreated: (TENSORS, SOURCE),
    ev.ViewMade: (TENSORS, SOURCE),
    ev.VersionBumped: (TENSORS, SOURCE),
    ev.GeometryChanged: (TENSORS, SOURCE),
    ev.RequiresGradSet: (TENSORS, SOURCE),
    ev.KeySetChanged: (TENSORS, SOURCE),
    ev.NumbersRecorded: (TENSORS, SOURCE),
    ev.InplaceChecked: (TENSORS, SOURCE),
    ev.GradSet: (TENSORS, SOURCE),
    ev.NodeCreated: (GRAPH, SOURCE),
    ev.EdgesCollected: (GRAPH, SOURCE),
    ev.AttributeSaved: (GRAPH, SOURCE),
    ev.VariableSaved: (GRAPH, TENSORS),
    ev.VariableNotSaved: (GRAPH, SOURCE),
    ev.SavedTensorHookRan: (GRAPH, SOURCE),
    ev.AnomalyFound: (GRAPH, SOURCE),
    ev.AccumulatorMade: (GRAPH, SOURCE),
    ev.HistorySet: (GRAPH, SOURCE),
    ev.HistoryRebased: (GRAPH, SOURCE),
    ev.NodeDeleted: (GRAPH, SOURCE),
    ev.DualLevelEntered: (SOURCE, CALLS),
    ev.DualLevelLeft: (SOURCE, CALLS),
    ev.ForwardFormulaEntered: (SOURCE, CALLS),
    ev.TangentSet: (SOURCE, CALLS),
    ev.FunctionEntered: (SOURCE, CALLS),
    ev.FunctionOutput: (GRAPH, SOURCE),
    ev.BackwardStarted: (ENGINE, GRAPH),
    ev.DependenciesCounted: (ENGINE, GRAPH),
    ev.ExecInfoPopulated: (ENGINE, GRAPH),
    ev.DependencyMet: (ENGINE, GRAPH),
    ev.NodeQueued: (ENGINE, GRAPH),
    ev.NodeSkipped: (ENGINE, GRAPH),
    ev.FormulaSkipped: (GRAPH, SOURCE),
    ev.NodeStarted: (GRAPH, ENGINE),
    ev.NodeFinished: (GRAPH, ENGINE),
    ev.GradientBuffered: (ENGINE, GRAPH),
    ev.GradientAccumulated: (ENGINE, GRAPH),
    ev.GradientCaptured: (ENGINE, GRAPH),
    ev.FinalCallbackQueued: (ENGINE, CALLS),
    ev.FinalCallbackCalled: (ENGINE, OUTPUT),
    ev.BackwardFinished: (ENGINE, GRAPH),
    ev.ErrorRaised: (CALLS, SOURCE),
}
"""The panes that show most about a kind of step, best first."""

OTHERWISE = (SOURCE, KEYS, CALLS, GRAPH, STRUCTURED, TENSORS, CELL, THREAD, ENGINE, OUTPUT, TABLE, NODE)
"""What follows those: an order in which few panes come and go from one step to the next."""

ON_REQUEST = (TABLE, NODE)
"""Shown only where the reader has chosen them."""

UNTITLED = (CELL, STRUCTURED, TABLE, THREAD)
"""Not shown as a title: the title of the key set says that there is no call, the header what the thread carries."""

OWN_TITLES = 1
"""So many of the reader's own panes that say nothing are shown as titles in a column; where rows are few, in all."""

TITLES_FROM = 20
"""From so many rows on a column has room for the titles of panes that have nothing to say."""


class Shown(NamedTuple):
    """The panes beside the steps."""

    panes: list[int]
    shrunk: set[int]
    """Those of them that have nothing to say, and are shown as their title row."""


def order(event: ev.Event, own: Iterable[int] = ()) -> list[int]:
    """All panes beside the steps that may be shown, those first that the reader has chosen."""
    own = list(own)
    wanted = (*own, *NEEDED.get(type(event), ()), *OTHERWISE)
    return [pane for pane in dict.fromkeys(wanted) if pane != STEPS and (pane in own or pane not in ON_REQUEST)]


def chosen(
    wanted: Collection[int],
    width: int,
    height: int,
    frame: Frame,
    says_nothing: Callable[[int], bool],
    own: Collection[int] = (),
) -> Shown:
    """Of panes in their order those that have room; those that say nothing are shrunk where there is room for titles.

    One beside the steps is always there, whatever it says.
    """
    rows = max(height - sum(frame), 0)
    shrunk = {pane for pane in wanted if says_nothing(pane)}
    if len(shrunk) == len(wanted):
        shrunk.remove(next(iter(wanted)))
    found = set[int]()
    for column in columns(width):
        beside = [pane for pane in wanted if pane in column]
        asked = [pane for pane in beside if pane in shrunk and pane in own][:OWN_TITLES]
        if rows < TITLES_FROM and found & shrunk:
            asked = []
        room = rows - steps_rows(rows) - len(asked)
        open_ = _fitting([pane for pane in beside if pane not in shrunk], room)
        titles = [pane for pane in beside if pane in shrunk and pane not in own and _is_titled(pane, rows)]
        found.update((*open_, *asked, *titles[: max(room - sum(map(least, open_)), 0)]))
    return Shown(sorted(found), shrunk & found)


def _is_titled(pane: int, rows: int) -> bool:
    return rows >= TITLES_FROM and pane not in UNTITLED


def _fitting(wanted: Iterable[int], room: int) -> list[int]:
    """The panes of a column that have room, best first, which always has."""
    taken, used = list[int](), 0
    for pane in wanted:
        if used + least(pane) <= room or not taken:
            taken.append(pane)
            used += least(pane)
    return taken
