"""Nodes, what they save, histories, tangents."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.labels.label_functions import WIDTH, Labels
from dispatchviz.explain.sentences.node_sentences import FIRST_THREAD, NO_NUMBER
from dispatchviz.explain.trace_index.display_names import node_name, node_title, plain_node, tensor_name
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import counted, shortened

LABELS = Labels()


@LABELS.of(ev.NodeCreated)
def _node(trace: Trace, event: ev.NodeCreated) -> str:
    thread = "" if event.thread == FIRST_THREAD else f", thread {event.thread}"
    known = " (known before)" if event.known else ""
    if event.sequence_nr == NO_NUMBER:
        return f"Node {node_name(trace, event.node, event.seq)}{thread}{known}"
    return f"Node {plain_node(event.name)}, seq {event.sequence_nr}{thread}{known}"


@LABELS.of(ev.EdgesCollected)
def _edges(trace: Trace, event: ev.EdgesCollected) -> str:
    targets = [
        f"→ {node_title(trace, edge[0], event.seq)}{f' input {edge[1]}' if edge[1] else ''}" if edge else "empty"
        for edge in event.edges
    ]
    names = [f"{name} " for name, _ in event.inputs] if len(event.inputs) == len(targets) else [""] * len(targets)
    edges = ", ".join([name + target for name, target in zip(names, targets, strict=True)])
    return shortened(f"edges {edges or 'none'}", WIDTH + 20)


@LABELS.of(ev.AttributeSaved)
def _attribute(trace: Trace, event: ev.AttributeSaved) -> str:
    return shortened(f"saves {event.name} = {event.value}", WIDTH)


@LABELS.of(ev.VariableSaved)
def _variable(trace: Trace, event: ev.VariableSaved) -> str:
    tensor = "undefined" if event.tensor is None else tensor_name(trace, event.tensor, event.seq)
    return f"saves {event.name} = {tensor}{' (packed)' if event.packed else ''}"


@LABELS.of(ev.VariableNotSaved)
def _not_saved(trace: Trace, event: ev.VariableNotSaved) -> str:
    return f"does not save {event.name}"


@LABELS.of(ev.SavedTensorHookRan)
def _saved_hook(trace: Trace, event: ev.SavedTensorHookRan) -> str:
    return f"{event.kind} {event.function}: {tensor_name(trace, event.tensor, event.seq)}"


@LABELS.of(ev.AccumulatorMade)
def _accumulator(trace: Trace, event: ev.AccumulatorMade) -> str:
    return f"{node_name(trace, event.node, event.seq)} belongs to {tensor_name(trace, event.tensor, event.seq)}"


@LABELS.of(ev.HistorySet)
def _history(trace: Trace, event: ev.HistorySet) -> str:
    return f"{tensor_name(trace, event.tensor, event.seq)}.grad_fn = {node_title(trace, event.node, event.seq)}"


@LABELS.of(ev.HistoryRebased)
def _rebased(trace: Trace, event: ev.HistoryRebased) -> str:
    name, node = tensor_name(trace, event.tensor, event.seq), node_title(trace, event.node, event.seq)
    return f"{name}.grad_fn = {node} ({'regenerated' if event.tensor in index(trace).views else 'rebased'})"


@LABELS.of(ev.FunctionEntered)
def _function(trace: Trace, event: ev.FunctionEntered) -> str:
    return f"{event.function}.apply{'' if event.recorded else ', not recorded'}"


@LABELS.of(ev.FunctionOutput)
def _function_output(trace: Trace, event: ev.FunctionOutput) -> str:
    result = tensor_name(trace, event.result, event.seq)
    return f"output {event.position} is {result}{'' if event.how == 'plain' else f' ({event.how})'}"


@LABELS.of(ev.NoNodeMade)
def _no_node(trace: Trace, event: ev.NoNodeMade) -> str:
    return f"no Node: {event.why}"


@LABELS.of(ev.DualLevelEntered)
def _dual_level(trace: Trace, event: ev.DualLevelEntered) -> str:
    return f"dual level {event.level} opened"


@LABELS.of(ev.DualLevelLeft)
def _dual_level_left(trace: Trace, event: ev.DualLevelLeft) -> str:
    return f"dual level {event.level} closed, {counted(event.tangents, 'tangent')} removed"


@LABELS.of(ev.ForwardFormulaEntered)
def _forward_formula(trace: Trace, event: ev.ForwardFormulaEntered) -> str:
    return shortened(f"tangent = {event.formula}", WIDTH)


@LABELS.of(ev.TangentSet)
def _tangent(trace: Trace, event: ev.TangentSet) -> str:
    name, tangent = tensor_name(trace, event.tensor, event.seq), tensor_name(trace, event.tangent, event.seq)
    return f"tangent of {name} = {tangent} ({event.how})"
