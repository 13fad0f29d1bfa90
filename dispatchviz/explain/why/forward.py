"""Sentences of the forward side of autograd: Nodes, edges, saved variables, histories."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core import events as ev
from dispatchviz.core.trace import Trace
from dispatchviz.explain.english import capital, counted, listed, ordinal
from dispatchviz.explain.groups import ForwardEvent
from dispatchviz.explain.index import index
from dispatchviz.explain.names import node_title, plain_node, tensor_name, tensor_names
from dispatchviz.explain.surroundings import arguments, around
from dispatchviz.explain.why import functions, tangents

NO_NUMBER = 2**64 - 1
"""The sequence number of Nodes that take none from the counter: the largest there is."""


def why(trace: Trace, event: ForwardEvent) -> str:
    """Why autograd writes this down."""
    match event:
        case ev.NodeCreated():
            return _node(trace, event)
        case ev.EdgesCollected():
            return _edges(trace, event)
        case ev.AttributeSaved() | ev.VariableSaved() | ev.VariableNotSaved():
            return _saved(trace, event)
        case ev.SavedTensorHookRan():
            tensor = tensor_name(trace, event.tensor, event.seq)
            if event.kind == "pack hook":
                return (
                    f"The pack hook {event.function} gets {tensor}, which is to be kept: its {event.packed} is kept "
                    "instead."
                )
            return f"The unpack hook {event.function} turns the {event.packed} that was kept into {tensor}."
        case ev.AccumulatorMade():
            leaf = tensor_name(trace, event.tensor, event.seq)
            return (
                f"{leaf} remembers its AccumulateGrad, so that all its uses share it, but does not keep it alive: the "
                "graphs that lead to it do."
            )
        case ev.HistorySet():
            name, node = tensor_name(trace, event.tensor, event.seq), node_title(trace, event.node, event.seq)
            output = _output(event.output_nr)
            return f"{name} gets its history: its grad_fn is {node}{output}, so from now on it requires grad."
        case ev.HistoryRebased():
            name, node = tensor_name(trace, event.tensor, event.seq), node_title(trace, event.node, event.seq)
            return (
                f"{name} was changed in place, so its history is rewritten: its grad_fn is now {node}"
                f"{_output(event.output_nr)}, and what it was before is behind that Node."
            )
        case ev.FunctionEntered():
            return functions.entered(event)
        case ev.FunctionOutput():
            return functions.output(trace, event)
        case ev.NoNodeMade():
            return _no_node(trace, event)
        case ev.DualLevelEntered() | ev.DualLevelLeft() | ev.ForwardFormulaEntered() | ev.TangentSet():
            return tangents.why(trace, event)
        case _:
            assert_never(event)


def _output(number: int) -> str:
    return f", output {number}" if number else ""


def _lost(trace: Trace, event: ev.NodeCreated) -> str:
    """The Node of an operator that has a kernel for a backend and none for autograd."""
    call = around(trace, event.seq, ev.Dispatched)
    operator = call.operator if call else "the operator"
    return (
        f"An input requires grad, and {operator} has no autograd kernel: nobody knows its derivative. This Node, "
        f"WarnNotImplemented, keeps the place in the graph. If {operator}'s result comes without a history of its own, "
        "its gradient is lost here: backward only warns and goes no further. A kernel under Autograd would bring one."
    )


def _node(trace: Trace, event: ev.NodeCreated) -> str:
    name = plain_node(event.name)
    made = index(trace).accumulators.get(event.node)
    if made is not None:
        leaf = tensor_name(trace, made.tensor, event.seq)
        return (
            f"{leaf} requires grad and has no history (it is a leaf), so its gradients end in a Node of its own, "
            f"AccumulateGrad, which will write {leaf}.grad."
        )
    if name == "GraphRoot":
        return "This backward pass has several starting points: a Node of its own, GraphRoot, leads to all of them."
    if name == "WarnNotImplemented":
        return _lost(trace, event)
    number = "" if event.sequence_nr == NO_NUMBER else f", sequence number {event.sequence_nr}"
    order = " Of several Nodes that are ready the engine runs the largest number first." if number else ""
    return f"{_cause(trace, event)} is written down as a Node: {name}{number}.{order}"


def _cause(trace: Trace, event: ev.NodeCreated) -> str:
    computed = arguments(trace, event.seq)
    call = around(trace, event.seq, ev.Dispatched)
    if computed is None or call is None:
        return "The way back"
    known = index(trace)
    needed = [tensor for _, tensor, _ in computed.arguments if known.grad_needed(tensor, event.seq)]
    if not needed:
        return f"The way back through {call.operator}"
    who = tensor_names(trace, needed, event.seq)
    require = "require" if len(set(needed)) > 1 else "requires"
    return f"{who} {require} grad, so the way back through {call.operator}"


def _edges(trace: Trace, event: ev.EdgesCollected) -> str:
    node = node_title(trace, event.node, event.seq)
    if not event.edges:
        return f"{node} has no edges: no gradient goes on from here."
    parts = [_edge(trace, event, position) for position in range(len(event.edges))]
    if len(parts) == 1:
        return f"{node} gets one edge, {parts[0]}."
    ends = "starting point" if node.startswith("GraphRoot") else "input"
    first = f"{node} gets {counted(len(parts), 'edge')}, one per {ends}: {'; '.join(parts)}."
    if None in event.edges:
        return f"{first} An empty edge keeps its place, so that edges count like inputs."
    return first


def _edge(trace: Trace, event: ev.EdgesCollected, position: int) -> str:
    edge = event.edges[position]
    name, tensor = event.inputs[position] if position < len(event.inputs) else ("", None)
    known = tensor_name(trace, tensor, event.seq) if tensor is not None else ""
    of = f", for {name}{f' ({known})' if known and known != name else ''}," if name else ""
    which = f"the {ordinal(position + 1)}{of}" if len(event.edges) > 1 else of[2:].replace(",", ": it") or "which"
    if edge is None:
        because = f", because {known} does not require grad" if known else ""
        return f"{which} is empty{because}"
    target, number = edge
    return f"{which} leads to {node_title(trace, target, event.seq)}{f', input {number}' if number else ''}"


def _saved(trace: Trace, event: ev.AttributeSaved | ev.VariableSaved | ev.VariableNotSaved) -> str:
    node = node_title(trace, event.node, event.seq)
    match event:
        case ev.AttributeSaved():
            return f"{node} keeps {event.name} = {event.value}: its formula needs it."
        case ev.VariableNotSaved():
            return (
                f"{node} does not keep {event.name}: only the formula of its {ordinal(event.edge + 1)} edge needs it, "
                "and that edge is empty."
            )
        case _:
            if event.tensor is None:
                return f"{node} would keep {event.name}, but there is no such tensor here."
            tensor = tensor_name(trace, event.tensor, event.seq)
            kind = "its own result" if event.is_output else f"the tensor {tensor}"
            return (
                f"{node} keeps {kind} as {event.name} for its formula, and notes its version, {event.version}: if the "
                "tensor is changed in place later, using it raises an error."
            )


def _no_node(trace: Trace, event: ev.NoNodeMade) -> str:
    if event.why == "no input requires grad":
        computed = arguments(trace, event.seq)
        names = [tensor_name(trace, tensor, event.seq) for _, tensor, _ in computed.arguments] if computed else []
        if len(set(names)) == 1:
            return f"{names[0]} does not require grad, so {event.operator} needs no way back: no Node is made."
        who = listed(list(dict.fromkeys(names)))
        return f"None of {who or 'the inputs'} requires grad, so {event.operator} needs no way back: no Node is made."
    because = f"{event.operator} is never differentiable" if event.why == "never differentiable" else capital(event.why)
    return f"{because}, so no Node is made: the kernel only passes the call on."
