"""Sentences on Nodes: why a Node is recorded, and where its edges lead."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.compiled.compiled_names import region_title
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.sentences.sentence_claims import NodeEdges, NodeRaises
from dispatchviz.explain.sentences.statement import LaterClaims, Statement, Statements
from dispatchviz.explain.trace_index.display_names import attribute, node_title, plain_node, tensor_name, tensor_names
from dispatchviz.explain.trace_index.enclosing_steps import arguments, around
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import counted, ordinal

NO_NUMBER = 2**64 - 1
"""The sequence number of Nodes that take none from the counter: the largest possible number."""

COMPILED = "CompiledFunctionBackward"
"""The Node of a compiled region with a backward."""

FIRST_THREAD = 1
"""The thread in which most programs create all their Nodes. Sentences do not name it."""


def _known(event: ev.NodeCreated, name: str, how: str) -> Statement:
    number = f"{_number(event)}," if _number(event) else ""
    return Statement("known Node", f"The Node {name}{number} is first seen here. {how}")


def why_made(trace: Trace, event: ev.NodeCreated) -> Statements:
    """The reason why a Node is recorded."""
    name = plain_node(event.name)
    region = around(trace, event.seq, ev.RegionCalled)
    if region is not None and name == COMPILED:
        text = f"The call of {region_title(region.region)} is recorded as one Node, {name}{_number(event)}."
        return Statement("Node of a compiled region", text), *_order(event)
    if event.known:
        return _known(event, name, "It was created before.")
    if event.node in index(trace).accumulators:
        return _accumulator(trace, event)
    if event.node in index(trace).functions:
        text = f"A Function creates its Node before its forward runs: {name}{_number(event)}."
        return Statement("Node of a Function", text), *_order(event)
    special = _special(trace, event, name)
    if special is not None:
        return special
    if is_unseen(trace.header, ev.FunctionEntered) and not _has_result(trace, event.node):
        return _known(event, name, "Another Node leads to it.")
    text = f"{_cause(trace, event)} is recorded as the Node {name}{_number(event)}."
    return Statement("Node made", text), *_order(event)


def _has_result(trace: Trace, node: int) -> bool:
    """Return whether a call was seen to give its result the Node."""
    events = history(trace).events
    return bool(events.of_node(node, ev.HistorySet) or events.of_node(node, ev.HistoryRebased))


def _number(event: ev.NodeCreated) -> str:
    if event.sequence_nr == NO_NUMBER:
        return ""
    own = "" if event.thread == FIRST_THREAD else f" of thread {event.thread}, which counts its own"
    return f", sequence number {event.sequence_nr}{own}"


def _order(event: ev.NodeCreated) -> tuple[Statement, ...]:
    if event.sequence_nr == NO_NUMBER:
        return ()
    return (
        Statement(
            "order of Nodes",
            ("When several Nodes are ready, the engine runs the newest one (largest sequence number) first."),
        ),
    )


def _accumulator(trace: Trace, event: ev.NodeCreated) -> Statement:
    leaf = tensor_name(trace, index(trace).accumulators[event.node].tensor, event.seq)
    text = (
        f"{leaf} is a leaf that requires grad, so its gradients go to a Node of its own, AccumulateGrad, which writes "
        f"{attribute(leaf, 'grad')}."
    )
    return Statement("AccumulateGrad made", text)


def _special(trace: Trace, event: ev.NodeCreated, name: str) -> Statement | None:
    """The sentence on a Node that is not recorded for an operator's own formula; None for other Nodes."""
    call = around(trace, event.seq, ev.Dispatched)
    operator = call.operator if call else "the operator"
    match name:
        case "GraphRoot":
            text = (
                "This backward pass has several roots, so it gets a Node of its own, GraphRoot, with an edge to each "
                "root."
            )
            return Statement("GraphRoot made", text)
        case "WarnNotImplemented":
            return _lost(operator)
        case "NotImplemented":
            text = (
                f"An input requires grad, but the derivative of {operator} is not implemented. The Node NotImplemented "
                "takes its place in the graph and raises an error if a backward pass runs it."
            )
            return Statement("NotImplemented made", text, (NodeRaises(event.node, "is not implemented"),))
        case "CopySlices":
            text = (
                f"{operator} wrote through a view, so the history of the view's base is rebased onto the Node "
                f"CopySlices{_number(event)}."
            )
            return Statement("CopySlices made", text)
        case "AsStridedBackward0" if not operator.startswith("aten::as_strided"):
            text = (
                "The version of a view and its base has changed since the view's grad_fn was set, so the grad_fn is "
                f"regenerated: AsStridedBackward0{_number(event)}."
            )
            return Statement("view's Node regenerated", text)
        case _:
            return None


def _lost(operator: str) -> Statement:
    """The sentence on the Node of an operator with a backend kernel but no autograd kernel."""
    text = (
        f"An input requires grad, but {operator} has no autograd kernel, so its derivative is not known. The Node "
        f"WarnNotImplemented takes its place in the graph. If the result of {operator} has no history of its own, its "
        "gradient is lost here: backward only warns and goes no further. A kernel registered for Autograd would record "
        "the derivative."
    )
    return Statement("WarnNotImplemented made", text)


def _cause(trace: Trace, event: ev.NodeCreated) -> str:
    computed = arguments(trace, event.seq)
    call = around(trace, event.seq, ev.Dispatched)
    if computed is None or call is None:
        return "The call"
    known = index(trace)
    needed = [tensor for _, tensor, _ in computed.arguments if known.grad_needed(tensor, event.seq)]
    if not needed or is_unseen(trace.header, ev.RequiresGradSet):
        return f"The call of {call.operator}"
    who = tensor_names(trace, needed, event.seq)
    require = "require" if len(set(needed)) > 1 else "requires"
    return f"{who} {require} grad, so the call of {call.operator}"


_SHOWN_IN_PYTHON = 3
"""The largest number of edges that are also shown as Python shows them."""


def why_edges(trace: Trace, event: ev.EdgesCollected) -> Statements:
    """The Nodes that the gradients go to."""
    node = node_title(trace, event.node, event.seq)
    claims = LaterClaims(lambda: (_claim(trace, event),))
    if not event.edges:
        return Statement("no edges", f"{node} has no edges, so no gradient is passed on from here.", claims)
    parts = [_edge(trace, event, position) for position in range(len(event.edges))]
    shown = _in_python(trace, event, claims)
    if len(parts) == 1:
        return Statement("one edge", f"{node} gets one edge. {parts[0]}.", claims), *shown
    ends = "root" if node.startswith("GraphRoot") else "input"
    text = f"{node} gets {counted(len(parts), 'edge')}, one per {ends}. {'. '.join(parts)}."
    if None in event.edges:
        text += " An empty edge is kept so that edge i belongs to input i."
    return Statement("edges", text, claims), *shown


def _in_python(trace: Trace, event: ev.EdgesCollected, claims: LaterClaims) -> tuple[Statement, ...]:
    """The edges as Python shows them, with the meaning of the second numbers if they are not all 0."""
    if len(event.edges) > _SHOWN_IN_PYTHON or not any(event.edges):
        return ()
    nodes = index(trace).nodes
    pairs = [
        (plain_node(nodes[edge[0]].name), edge[1]) if edge and edge[0] in nodes else ("None", 0) for edge in event.edges
    ]
    text = ", ".join(f"({name}, {number})" for name, number in pairs)
    text_in_python = f"In Python, next_functions is ({text}{',' if len(pairs) == 1 else ''})."
    numbered = next((position for position, (_, number) in enumerate(pairs) if number), None)
    if numbered is not None:
        text_in_python += (
            f" The second number is the input of that Node that gets the gradient: {_output(trace, event, numbered)}."
        )
    return (Statement("edges in Python", text_in_python, claims),)


def _output(trace: Trace, event: ev.EdgesCollected, position: int) -> str:
    """The reason why an edge leads to another input than the first."""
    edge, tensor = event.edges[position], event.inputs[position][1] if position < len(event.inputs) else None
    number = edge[1] if edge else 0
    which = tensor_name(trace, tensor, event.seq) if tensor is not None else "the tensor"
    return f"{which} is output {number} (counted from 0) of the call that created it"


def _edge(trace: Trace, event: ev.EdgesCollected, position: int) -> str:
    edge = event.edges[position]
    name, tensor = event.inputs[position] if position < len(event.inputs) else ("", None)
    known = tensor_name(trace, tensor, event.seq) if tensor is not None else ""
    of = f"for {name}{f' ({known})' if known and known != name else ''}" if name else ""
    if len(event.edges) > 1:
        which = f"The {ordinal(position + 1)}{f', {of},' if of else ''}"
    else:
        which = f"It is {of} and" if of else "It"
    if edge is None:
        return f"{which} is empty{_why_empty(trace, event, tensor)}"
    target, number = edge
    return f"{which} leads to {node_title(trace, target, event.seq)}{f', input {number}' if number else ''}"


def _why_empty(trace: Trace, event: ev.EdgesCollected, tensor: int | None) -> str:
    if tensor is None:
        return ""
    name = tensor_name(trace, tensor, event.seq)
    if index(trace).grad_needed(tensor, event.seq):
        return f", because {name} itself has neither a grad_fn nor the flag: only its base requires grad"
    return "" if is_unseen(trace.header, ev.RequiresGradSet) else f", because {name} does not require grad"


def _claim(trace: Trace, event: ev.EdgesCollected) -> NodeEdges:
    nodes = index(trace).nodes
    targets = [nodes.get(edge[0]) if edge else None for edge in event.edges]
    numbers = tuple(edge[1] if edge else 0 for edge in event.edges)
    return NodeEdges(event.node, tuple(made.name if made else "" for made in targets), numbers)
