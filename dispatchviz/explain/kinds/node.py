"""Members of Nodes that are set after the Nodes are created."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.kind import Kind, Rule, unseen
from dispatchviz.explain.locations.pytorch_locations import NODE
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.foundation.english import capital

_MEMBERS = "members of a Node that change after its creation are not watched"


_ANOMALY = "torch/csrc/autograd/python_anomaly_mode.cpp"


def _number(trace: Trace, event: ev.SequenceNumberSet) -> Statement:
    node = node_title(trace, event.node, event.seq)
    turn = "sooner" if event.sequence_nr > event.before else "later"
    if event.sequence_nr == event.before:
        text = f"The sequence number of {node} is set to {event.before}, which it already was."
        return Statement("same sequence number", text)
    text = (
        f"The sequence number of {node} changes from {event.before} to {event.sequence_nr}, so among ready Nodes it "
        f"runs {turn}."
    )
    return Statement("sequence number set", text)


def _undefined(trace: Trace, event: ev.UndefinedInputAdded) -> Statement:
    text = (
        f"Input {event.input_nr} of {node_title(trace, event.node, event.seq)} is a placeholder, because the output is "
        "undefined (None in Python). No gradient arrives there."
    )
    return Statement("undefined input", text)


def _stack(trace: Trace, event: ev.StackStored) -> Statement:
    node = node_title(trace, event.node, event.seq)
    place = event.frame.strip().splitlines()
    made = f": {place[0]}" if place else ""
    text = f"Anomaly mode is on, so {node} stores the Python stack of its creation{made}."
    return Statement("stack stored", text)


def _parent(trace: Trace, event: ev.ParentAssigned) -> Statement:
    node, parent = node_title(trace, event.node, event.seq), node_title(trace, event.parent_node, event.seq)
    text = (
        f"{capital(node)} is created while {parent} is evaluated, so anomaly mode stores {parent} as its parent. An "
        f"error in {node} can then be traced back to the first forward."
    )
    return Statement("parent assigned", text)


def _number_label(trace: Trace, event: ev.SequenceNumberSet) -> str:
    return f"set_sequence_nr of {node_title(trace, event.node, event.seq)}: {event.before} → {event.sequence_nr}"


def _undefined_label(trace: Trace, event: ev.UndefinedInputAdded) -> str:
    return f"input {event.input_nr} of {node_title(trace, event.node, event.seq)} is a placeholder"


def _parent_label(trace: Trace, event: ev.ParentAssigned) -> str:
    node, parent = node_title(trace, event.node, event.seq), node_title(trace, event.parent_node, event.seq)
    return f"anomaly parent of {node}: {parent}"


NODE_KINDS = (
    Kind(
        ev.SequenceNumberSet,
        group="forward",
        label=_number_label,
        why=_number,
        rule=Rule(
            "Sequence numbers order only the Nodes that are ready. A branch comes first if all its Nodes have larger "
            "numbers.",
            "torch::autograd::Node::set_sequence_nr",
            NODE,
        ),
        known=unseen(_MEMBERS),
    )
    | Kind(
        ev.UndefinedInputAdded,
        group="forward",
        label=_undefined_label,
        why=_undefined,
        rule=Rule(
            "A Node has one entry of input_metadata for each forward output. The entry of an undefined output is a "
            "placeholder.",
            "torch::autograd::Node::add_input_metadata",
            NODE,
        ),
        known=unseen(_MEMBERS),
    )
    | Kind(
        ev.StackStored,
        group="forward",
        label=lambda trace, event: f"{node_title(trace, event.node, event.seq)} keeps the stack of its creation",
        why=_stack,
        rule=Rule(
            "In anomaly mode, the constructor of a Node stores the Python stack, then assigns the parent.",
            "torch::autograd::PyAnomalyMetadata::store_stack",
            _ANOMALY,
        ),
        known=unseen(_MEMBERS),
    )
    | Kind(
        ev.ParentAssigned,
        group="forward",
        label=_parent_label,
        why=_parent,
        rule=Rule(
            "The parent is the Node that is being evaluated. Only Nodes of a recorded backward pass (create_graph) "
            "have one.",
            "torch::autograd::PyAnomalyMetadata::assign_parent",
            _ANOMALY,
        ),
        known=unseen(_MEMBERS),
    )
)
