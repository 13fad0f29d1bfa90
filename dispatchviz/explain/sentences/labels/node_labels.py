"""Members of Nodes that are set apart from their making: numbers, metadata, hooks; their end."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.node.node_hooks import registration
from dispatchviz.explain.sentences.labels.label_functions import WIDTH, Labels
from dispatchviz.explain.trace_index.display_names import node_title, tensor_name
from dispatchviz.foundation.english import shortened

LABELS = Labels()


@LABELS.of(ev.SequenceNumberSet)
def _number(trace: Trace, event: ev.SequenceNumberSet) -> str:
    return f"set_sequence_nr of {node_title(trace, event.node, event.seq)}: {event.before} → {event.sequence_nr}"


@LABELS.of(ev.UndefinedInputAdded)
def _undefined(trace: Trace, event: ev.UndefinedInputAdded) -> str:
    return f"input {event.input_nr} of {node_title(trace, event.node, event.seq)} is a placeholder"


@LABELS.of(ev.StackStored)
def _stack(trace: Trace, event: ev.StackStored) -> str:
    return f"{node_title(trace, event.node, event.seq)} keeps the stack of its creation"


@LABELS.of(ev.ParentAssigned)
def _parent(trace: Trace, event: ev.ParentAssigned) -> str:
    node, parent = node_title(trace, event.node, event.seq), node_title(trace, event.parent_node, event.seq)
    return f"anomaly parent of {node}: {parent}"


@LABELS.of(ev.NodeDeleted)
def _deleted(trace: Trace, event: ev.NodeDeleted) -> str:
    along = "" if event.by is None else f", with {node_title(trace, event.by, event.seq)}"
    return f"{node_title(trace, event.node, event.seq)} is freed{along}"


@LABELS.of(ev.HookRegistered)
def _hook(trace: Trace, event: ev.HookRegistered) -> str:
    moved = " goes along" if event.moved else ""
    return shortened(f"{event.kind} {event.function}{moved}: {_keeper(trace, event)}", WIDTH)


def _keeper(trace: Trace, event: ev.HookRegistered) -> str:
    if event.tensor is not None:
        return tensor_name(trace, event.tensor, event.seq)
    return "a Node" if event.node is None else node_title(trace, event.node, event.seq)


@LABELS.of(ev.HookRemoved)
def _removed(trace: Trace, event: ev.HookRemoved) -> str:
    hook = registration(trace, event.hook)
    return shortened(f"{hook.kind} {hook.function} removed", WIDTH) if hook else "a hook is removed"
