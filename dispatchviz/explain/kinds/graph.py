"""The forward side of autograd: Nodes, what they save, histories."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.kinds.kind import RELEASED, WIDTH, Kind, Known, Rule, unseen
from dispatchviz.explain.locations.pytorch_locations import (
    GENERATED,
    NODE,
    VARIABLE,
    VARIABLE_TYPE,
)
from dispatchviz.explain.sentences import (
    history_sentences,
    node_sentences,
    saved_variable_sentences,
)
from dispatchviz.explain.sentences.node_sentences import FIRST_THREAD, NO_NUMBER
from dispatchviz.explain.sentences.sentence_claims import RequiresGrad
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import attribute, node_name, node_title, plain_node, tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import arguments
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import capital, listed, shortened


def _deleted(trace: Trace, event: ev.NodeDeleted) -> Statement:
    """Explain why a Node is freed: its last reference was an edge or something else."""
    node = capital(node_title(trace, event.node, event.seq))
    saved = " with its saved tensors" if _still_saves(trace, event) else ""
    if event.by is None:
        return Statement("Node freed", f"{node} is freed{saved}, because nothing refers to it any more.")
    last = f"the last reference to it was an edge of {node_title(trace, event.by, event.seq)}, which is freed too"
    return Statement("Node freed with another", f"{node} is freed{saved}, because {last}.")


def _still_saves(trace: Trace, event: ev.NodeDeleted) -> bool:
    events = history(trace).events
    saved = any(variable.tensor is not None for variable in events.of_node(event.node, ev.VariableSaved))
    return saved and not events.of_node(event.node, ev.VariablesReleased)


HISTORY = "torch/csrc/autograd/functions/utils.h"


def _node_label(trace: Trace, event: ev.NodeCreated) -> str:
    thread = "" if event.thread == FIRST_THREAD else f", thread {event.thread}"
    known = " (known before)" if event.known else ""
    if event.sequence_nr == NO_NUMBER:
        return f"Node {node_name(trace, event.node, event.seq)}{thread}{known}"
    return f"Node {plain_node(event.name)}, seq {event.sequence_nr}{thread}{known}"


def _edges_label(trace: Trace, event: ev.EdgesCollected) -> str:
    targets = [
        f"→ {node_title(trace, edge[0], event.seq)}{f' input {edge[1]}' if edge[1] else ''}" if edge else "empty"
        for edge in event.edges
    ]
    names = [f"{name} " for name, _ in event.inputs] if len(event.inputs) == len(targets) else [""] * len(targets)
    edges = ", ".join([name + target for name, target in zip(names, targets, strict=True)])
    return shortened(f"edges {edges or 'none'}", WIDTH + 20)


def _variable_label(trace: Trace, event: ev.VariableSaved) -> str:
    tensor = "undefined" if event.tensor is None else tensor_name(trace, event.tensor, event.seq)
    return f"saves {event.name} = {tensor}{' (packed)' if event.packed else ''}"


def _accumulator_label(trace: Trace, event: ev.AccumulatorMade) -> str:
    return f"{node_name(trace, event.node, event.seq)} belongs to {tensor_name(trace, event.tensor, event.seq)}"


def _history_label(trace: Trace, event: ev.HistorySet) -> str:
    name = tensor_name(trace, event.tensor, event.seq)
    return f"{attribute(name, 'grad_fn')} = {node_title(trace, event.node, event.seq)}"


def _rebased_label(trace: Trace, event: ev.HistoryRebased) -> str:
    name, node = tensor_name(trace, event.tensor, event.seq), node_title(trace, event.node, event.seq)
    return (
        f"{attribute(name, 'grad_fn')} = {node} ({'regenerated' if event.tensor in index(trace).views else 'rebased'})"
    )


def _accumulator(trace: Trace, event: ev.AccumulatorMade) -> Statement:
    leaf = tensor_name(trace, event.tensor, event.seq)
    text = f"{leaf} keeps a weak reference to its AccumulateGrad, so that all uses of {leaf} share one."
    return Statement("AccumulateGrad referenced", text)


_ENDS = "Backward passes end there and do not reach the detached tensor."


def _no_node(trace: Trace, event: ev.NoNodeMade) -> Statement:
    """Explain why the kernel recorded no Node: grad mode, the inputs or the operator."""
    match event.why:
        case "no input requires grad":
            return _no_input(trace, event)
        case "never differentiable":
            text = f"{_plain(event.operator)} has no derivative, so no Node is recorded and gradients stop here."
            return Statement("never differentiable", text)
        case "detached":
            return Statement(
                "detached",
                (f"No Node is recorded, because detach returns a tensor without history on the same memory. {_ENDS}"),
            )
        case _:
            text = "Grad mode is off, so no Node is recorded. The kernel only redispatches."
            return Statement("grad mode is off", text)


def _plain(operator: str) -> str:
    """The name by which a program calls an operator: ``argmax``; operators outside aten keep their namespace."""
    return operator.removeprefix("aten::").partition(".")[0]


def _no_input(trace: Trace, event: ev.NoNodeMade) -> Statement:
    computed = arguments(trace, event.seq)
    tensors = dict.fromkeys(tensor for _, tensor, _ in computed.arguments) if computed else {}
    if any(index(trace).grad_needed(tensor, event.seq) for tensor in tensors):
        text = f"No input of {event.operator} that has a derivative requires grad, so no Node is recorded."
        return Statement("no differentiable input requires grad", text)
    names = [tensor_name(trace, tensor, event.seq) for tensor in tensors]
    match names:
        case [name]:
            who = f"{name} does not require"
        case [one, other]:
            who = f"Neither {one} nor {other} requires"
        case _:
            who = f"None of {listed(names) or 'the inputs'} requires"
    text = f"{who} grad, so no Node is recorded for {event.operator}."
    return Statement("no input requires grad", text, tuple(RequiresGrad(tensor, False) for tensor in tensors))


def _deleted_label(trace: Trace, event: ev.NodeDeleted) -> str:
    along = "" if event.by is None else f", with {node_title(trace, event.by, event.seq)}"
    return f"{node_title(trace, event.node, event.seq)} is freed{along}"


def _node_created_rule(event: ev.NodeCreated) -> Rule:
    if event.name == "torch::autograd::AccumulateGrad":
        text = "A leaf's AccumulateGrad takes no sequence number from the counter. It has the maximum, 2**64 - 1."
        return Rule(text, "torch::autograd::AccumulateGrad", "torch/csrc/autograd/functions/accumulate_grad.h")
    text = (
        "A kernel creates a Node with c10::make_intrusive, so the Node counts the references to itself. Sequence "
        "numbers count up in each thread, in the order of creation."
    )
    return Rule(text, "torch::autograd::Node::Node", NODE)


GRAPH_KINDS = (
    Kind(
        ev.NodeCreated,
        group="forward",
        label=_node_label,
        why=node_sentences.why_made,
        rule=_node_created_rule,
        known=Known(
            "observed",
            "grad_fn of a result and the Nodes behind its edges, when the autograd kernel has returned",
            {
                "topological_nr": ("derived", "0 when the Node is created"),
                "thread": ("unseen", ("the thread is always recorded as 1")),
            },
        ),
        level="calls",
        panes=("backward graph", "source"),
        reason_in_log="always",
    )
    | Kind(
        ev.EdgesCollected,
        group="forward",
        label=_edges_label,
        why=node_sentences.why_edges,
        rule=Rule(
            "Edge i leads to the Node that created input i, or to its AccumulateGrad if the input is a leaf. The edge "
            "of an input that requires no grad is empty.",
            "torch::autograd::collect_next_edges",
            "torch/csrc/autograd/function.h",
        ),
        known=Known(
            "observed",
            "next_functions of the Node",
            {
                "inputs": ("unseen", "Python does not show which argument an edge belongs to"),
                "topological_nr": ("derived", "from the edges"),
            },
        ),
        panes=("backward graph", "source"),
        reason_in_log="always",
    )
    | Kind(
        ev.AttributeSaved,
        group="forward",
        label=lambda trace, event: shortened(f"saves {event.name} = {event.value}", WIDTH),
        why=saved_variable_sentences.why_attribute,
        rule=Rule("Plain values are saved as they are. They keep no tensor in memory.", "", f"{GENERATED}/Functions.h"),
        known=Known("observed", "_saved_ attributes of the Node"),
        panes=("backward graph", "source"),
    )
    | Kind(
        ev.VariableSaved,
        group="forward",
        label=_variable_label,
        why=saved_variable_sentences.why_saved,
        rule=Rule(
            "A tensor is saved with its version, unless a hook packs it. If an in-place operation changes that "
            "version later, using the saved tensor raises an error.",
            "torch::autograd::SavedVariable",
            "torch/csrc/autograd/saved_variable.cpp",
        ),
        known=Known(
            "observed",
            "_saved_ attributes of the Node",
            {
                "tensor": ("derived", "from the name of the argument or result"),
                "is_output": ("derived", "from the name"),
            },
        ),
        panes=("backward graph", "tensors"),
    )
    | Kind(
        ev.VariableNotSaved,
        group="forward",
        label=lambda trace, event: f"does not save {event.name}",
        why=saved_variable_sentences.why_not_saved,
        rule=Rule(
            "A tensor that only one formula uses is saved only if the edge of that formula is not empty.",
            "torch::autograd::Node::should_compute_output",
            NODE,
        ),
        known=unseen("the reason why a member is empty cannot be seen"),
        panes=("backward graph", "source"),
    )
    | Kind(
        ev.AccumulatorMade,
        group="forward",
        label=_accumulator_label,
        why=_accumulator,
        rule=Rule(
            "A leaf has one AccumulateGrad and holds a weak reference to it. Only the graphs that lead to it keep it "
            "alive.",
            "torch::autograd::impl::grad_accumulator",
            VARIABLE,
        ),
        known=Known("observed", "the AccumulateGrad and its variable, when an edge first leads there"),
        panes=("backward graph", "source"),
    )
    | Kind(
        ev.HistorySet,
        group="forward",
        label=_history_label,
        why=history_sentences.why_set,
        rule=Rule(
            "A result's grad_fn is the Node of its operator. flatten_tensor_args makes one list of all results.",
            "torch::autograd::set_history",
            HISTORY,
        ),
        known=Known("observed", "grad_fn of the result, when the autograd kernel has returned"),
        panes=("backward graph", "source"),
        reason_in_log="always",
    )
    | Kind(
        ev.HistoryRebased,
        group="forward",
        label=_rebased_label,
        why=history_sentences.why_rebased,
        rule=Rule(
            "An in-place operator rebases the tensor's history onto its own Node. If the tensor is a view, the "
            "history of its base is rebased, and the view's grad_fn is then regenerated from it.",
            "torch::autograd::rebase_history",
            VARIABLE_TYPE,
        ),
        known=Known("observed", "grad_fn of the result, when the autograd kernel has returned"),
        panes=("backward graph", "source"),
        reason_in_log="always",
    )
    | Kind(
        ev.NoNodeMade,
        group="forward",
        label=lambda trace, event: f"no Node: {event.why}",
        why=_no_node,
        rule=Rule(
            "A Node is recorded if grad mode is on and a differentiable input requires grad.",
            "torch::autograd::compute_requires_grad",
            HISTORY,
        ),
        known=unseen("the reason why no Node was recorded cannot be seen"),
        level="calls",
        reason_in_log="always",
    )
    | Kind(
        ev.NodeDeleted,
        group="forward",
        label=_deleted_label,
        why=_deleted,
        rule=Rule(
            "A Node is freed when the last c10::intrusive_ptr to it is gone. Nodes that only its edges kept alive are "
            "freed with it, from a stack (gatherFunctions) and not by recursion, so a chain may have any length. "
            "Older releases used deleteNode for this.",
            "torch::autograd::Node::release_resources",
            NODE,
        ),
        known=unseen(RELEASED),
        panes=("backward graph", "source"),
    )
)
