"""The panes that a step needs most, by its kind of event."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.tui.layout.pane_layout import CALLS, CELL, GRAPH, KEYS, SOURCE, STEPS

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
"""The panes that show most about a kind of step, best first."""

OTHERWISE = (SOURCE, KEYS, CALLS, GRAPH, CELL)


def chosen(event: ev.Event, pinned: int | None, number: int) -> list[int]:
    """The panes to show beside the steps: the reader's own choice, then what this kind of step needs."""
    wanted = (*((pinned,) if pinned else ()), *NEEDED.get(type(event), ()), *OTHERWISE)
    return sorted([pane for pane in dict.fromkeys(wanted) if pane != STEPS][:number])
