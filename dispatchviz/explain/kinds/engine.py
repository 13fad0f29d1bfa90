"""The engine: how a backward pass starts and ends, and what Nodes do.

``ready_queue.py`` explains when a Node runs, ``gradient.py`` where gradients go.
"""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.autograd.engine.thread_pool import MAX_DEPTH
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import backward_around, history
from dispatchviz.explain.kinds.kind import QUEUE, RELEASED, WIDTH, Kind, Known, Rule, unseen
from dispatchviz.explain.locations.pytorch_locations import ENGINE, NODE
from dispatchviz.explain.sentences import exec_info_sentences
from dispatchviz.explain.sentences.engine_claims import edge_text, pass_number, requested_inputs, runs
from dispatchviz.explain.sentences.sentence_claims import Claim, OutputDefined, SavedTensorsFreed
from dispatchviz.explain.sentences.statement import Statement, Statements
from dispatchviz.explain.trace_index.display_names import node_title, tensor_name
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.foundation.english import capital, listed, ordinal, shortened


def _backward_label(trace: Trace, event: ev.BackwardStarted) -> str:
    roots = ", ".join(node_title(trace, node, event.seq) for node, _ in event.roots)
    requested = ", ".join(requested_inputs(trace, event))
    aim = f" for {requested}" if requested else ""
    return shortened(f"{'backward' if event.accumulate else 'grad'} from {roots}{aim}", WIDTH)


def _counted_label(trace: Trace, event: ev.DependenciesCounted) -> str:
    edges = sum(number for _, number in event.counts)
    return f"{edges} edge{'' if edges == 1 else 's'} counted"


def _exec_info_label(trace: Trace, event: ev.ExecInfoPopulated) -> str:
    needed, pruned = len(event.needed), len(event.pruned)
    return f"exec_info: {needed} Node{'' if needed == 1 else 's'} needed, {pruned} pruned"


def _formula_skipped_label(trace: Trace, event: ev.FormulaSkipped) -> str:
    return f"no gradient for {edge_text(trace, event.node, event.edge, event.seq)}: not needed"


LONGEST_NAME = 60
"""The longest name of a callback in a sentence."""


def _started(trace: Trace, event: ev.BackwardStarted) -> Statements:
    roots = listed([node_title(trace, node, event.seq) for node, _ in dict.fromkeys(event.roots)])
    names = [tensor_name(trace, tensor, event.seq) for tensor in event.gradients if tensor is not None]
    given = f" with the gradient{'s' if len(names) > 1 else ''} {listed(names)}" if names else ""
    start = f"The engine starts at {roots}{given}"
    return (_aim(trace, event, start), *_circumstances(event))


def _aim(trace: Trace, event: ev.BackwardStarted, start: str) -> Statement:
    inputs = requested_inputs(trace, event)
    requested = listed(inputs)
    gradients = f"the gradient{'s' if len(inputs) > 1 else ''} of {requested or 'the inputs'}"
    if not event.accumulate:
        text = f"{start}. It returns {gradients} to the caller. No leaf's .grad is written."
        return Statement("grad starts", text, _leaves(trace, event))
    if event.inputs:
        text = (
            f"{start}. It accumulates {gradients}, which backward(inputs=) requests, into .grad. No other leaf's .grad "
            "is written."
        )
        if _names_an_interior_edge(trace, event):
            text = f"{start} and runs the Nodes on the paths to {requested}. Only requested leaves get a .grad."
            return Statement("backward of a gradient edge starts", text, _leaves(trace, event))
        return Statement("backward of some inputs starts", text, _leaves(trace, event))
    text = f"{start}. It accumulates the gradient of each leaf into the leaf's .grad."
    return Statement("backward starts", text, _leaves(trace, event))


def _names_an_interior_edge(trace: Trace, event: ev.BackwardStarted) -> bool:
    """Return whether an input is the edge of an interior Node: the Node runs, and no .grad is written."""
    leaves = history(trace).leaves
    named = zip(event.inputs, event.input_tensors, strict=False)
    return any(tensor is None and node not in leaves for (node, _), tensor in named)


def _leaves(trace: Trace, event: ev.BackwardStarted) -> tuple[Claim, ...]:
    """The claims about the AccumulateGrad Nodes of the graph: which of them run."""
    known = history(trace)
    backward = known.backwards[event.seq]
    return runs(trace, event.seq, sorted((backward.nodes | backward.pruned) & known.leaves))


def _circumstances(event: ev.BackwardStarted) -> list[Statement]:
    found = []
    if event.create_graph:
        found.append(
            Statement("backward is recorded", ("The backward pass is itself recorded, because create_graph is True."))
        )
    if event.depth:
        text = "It is reentrant: it was started inside another backward pass, which waits for it."
        found.append(Statement("backward within a backward", text))
    if event.depth and not event.depth % (MAX_DEPTH + 1):
        text = (
            f"The caller's thread already runs {MAX_DEPTH} reentrant passes (MAX_DEPTH), so this one runs on a thread "
            "of the engine's pool."
        )
        found.append(Statement("backward on a thread of the pool", text))
    return found


def _complete(trace: Trace, event: ev.BackwardFinished) -> Statements:
    backward = backward_around(trace, event.seq)
    if backward is not None and not backward.event.accumulate and not is_live(trace.header):
        text = "No Node of this graph task is queued or running any more, so grad() returns the captured gradients."
        return Statement("grad complete", text)
    live = is_live(trace.header)
    cause = "The engine returns" if live else "No Node of this graph task is queued or running any more"
    return Statement("backward complete", f"{cause}, so {'this' if live else 'the'} backward pass is complete.")


def _callback(event: ev.FinalCallbackQueued | ev.FinalCallbackCalled) -> Statement:
    name, nth = shortened(event.function, LONGEST_NAME), ordinal(event.position + 1)
    if isinstance(event, ev.FinalCallbackQueued):
        text = (
            f"queue_callback() queues the {nth} final callback of this graph task, {name}. It runs once no Node of the "
            "task is queued or running."
        )
        return Statement("final callback queued", text)
    text = (
        f"No Node of this graph task is queued or running any more and its gradients are complete, so the {nth} final "
        f"callback, {name}, runs."
    )
    return Statement("final callback runs", text)


def _finished(trace: Trace, event: ev.NodeFinished) -> Statement:
    node = node_title(trace, event.node, event.seq)
    if not event.gradients:
        return Statement("Node done, no gradients", f"{node} is done and returns no gradients.")
    task = pass_number(trace, event.seq)
    claims = [OutputDefined(task, event.node, i, gradient is not None) for i, gradient in enumerate(event.gradients)]
    text = f"{node} is done and returns {_outgoing(trace, event.gradients, event.seq)}."
    return Statement("Node done", text, tuple(claims))


def _outgoing(trace: Trace, gradients: Sequence[int | None], at: int) -> str:
    names = ["nothing" if tensor is None else tensor_name(trace, tensor, at) for tensor in gradients]
    if len(names) == 1:
        return names[0]
    return listed([f"{name} for edge {position}" for position, name in enumerate(names)])


def _skipped(trace: Trace, event: ev.FormulaSkipped) -> Statement:
    node = node_title(trace, event.node, event.seq)
    target = history(trace).target(event.node, event.edge)
    to = "a Node" if target is None else node_title(trace, target, event.seq)
    of = edge_text(trace, event.node, event.edge, event.seq)
    text = (
        f"{node} does not compute the gradient of {of}, because it would go to {to}, which this pass does not need "
        f"(task_should_compute_output({event.edge}) is false)."
    )
    claims = (OutputDefined(pass_number(trace, event.seq), event.node, event.edge, False),)
    return Statement("formula skipped", text, claims + (() if target is None else runs(trace, event.seq, [target])))


def _anomaly(trace: Trace, event: ev.AnomalyFound) -> Statement:
    node = node_title(trace, event.node, event.seq)
    if not event.lines:
        text = (
            f"An error was raised in {node}. Anomaly mode was off when the Node was created, so the line that created "
            "it is unknown."
        )
        return Statement("anomaly in an unknown line", text)
    lines = [line.strip() for line in event.lines.strip().splitlines()]
    return Statement("anomaly", f"An error was raised in {node}, which was created here: {'; '.join(lines[-2:])}.")


def _released(trace: Trace, event: ev.VariablesReleased) -> Statement:
    node = node_title(trace, event.node, event.seq)
    because = "because the graph is not kept (retain_graph is False)"
    saved = history(trace).events.of_node(event.node, ev.VariableSaved)
    names = list(dict.fromkeys(e.name for e in saved if e.tensor is not None and e.seq < event.seq))
    if not names:
        return Statement("saved tensors released", f"{capital(node)} releases its saved variables, {because}.")
    claims = (SavedTensorsFreed(event.node, tuple(names)),)
    variables = "variable" if len(names) == 1 else "variables"
    text = f"{node} releases its saved {variables} {listed(names)}, {because}."
    return Statement("saved tensors released by name", text, claims)


ENGINE_KINDS = (
    Kind(
        ev.BackwardStarted,
        group="engine",
        label=_backward_label,
        why=_started,
        rule=Rule(
            "One backward pass is one graph task. Without inputs=, every Node runs. With inputs=, and in grad(), only "
            "the Nodes on the paths to the inputs run.",
            "torch::autograd::Engine::execute",
            ENGINE,
        ),
        known=Known("observed", "Python enters the engine"),
        level="calls",
        panes=("engine", "backward graph"),
        reason_in_log="always",
    )
    | Kind(
        ev.DependenciesCounted,
        group="engine",
        label=_counted_label,
        why=exec_info_sentences.counts,
        rule=Rule(
            "The engine counts edges, not Nodes: two edges from one Node count as two. It skips the edges of Nodes "
            "whose topological number is below the smallest of the requested Nodes.",
            "torch::autograd::Engine::compute_dependencies",
            ENGINE,
        ),
        known=unseen(QUEUE),
        panes=("engine", "backward graph"),
    )
    | Kind(
        ev.ExecInfoPopulated,
        group="engine",
        label=_exec_info_label,
        why=exec_info_sentences.needs,
        rule=Rule(
            "A Node is needed if backward(inputs=) requests it, or if one of its edges leads to a Node that is needed "
            "or captured.",
            "torch::autograd::GraphTask::init_to_execute",
            ENGINE,
        ),
        known=unseen(QUEUE),
        panes=("engine", "backward graph"),
        reason_in_log="always",
    )
    | Kind(
        ev.FormulaSkipped,
        group="engine",
        label=_formula_skipped_label,
        why=_skipped,
        rule=Rule(
            "A formula is evaluated only if its edge leads to a Node that should execute in this graph task.",
            "torch::autograd::Node::task_should_compute_output",
            NODE,
        ),
        known=unseen("a Node does not report the formulas that it skips"),
        panes=("backward graph", "source"),
        reason_in_log="always",
    )
    | Kind(
        ev.NodeFinished,
        group="engine",
        label=lambda trace, event: shortened(f"{node_title(trace, event.node, event.seq)} done", WIDTH),
        why=_finished,
        rule=Rule(
            "The engine checks the outgoing gradients against the shape, dtype, device and layout of the forward "
            "inputs.",
            "torch::autograd::validate_outputs",
            ENGINE,
        ),
        known=unseen("the results of a Node appear only as the inputs of the next one"),
        panes=("backward graph", "engine"),
    )
    | Kind(
        ev.AnomalyFound,
        group="engine",
        label=lambda trace, event: f"anomaly in {node_title(trace, event.node, event.seq)}",
        why=_anomaly,
        rule=Rule(
            "In anomaly mode, a Node stores the stack trace of its creation. The engine prints it when the Node "
            "raises an error.",
            "torch::autograd::PyAnomalyMetadata::print_stack",
            "torch/csrc/autograd/python_anomaly_mode.cpp",
        ),
        known=unseen("an anomaly appears as a warning"),
        level="calls",
        panes=("backward graph", "source"),
    )
    | Kind(
        ev.VariablesReleased,
        group="engine",
        label=lambda trace, event: f"{node_title(trace, event.node, event.seq)} releases its saved variables",
        why=_released,
        rule=Rule(
            "Without retain_graph, a Node releases its saved variables right after it runs, before its gradients are "
            "passed on.",
            "torch::autograd::Node::release_variables",
            NODE,
        ),
        known=unseen(RELEASED),
    )
    | Kind(
        ev.BackwardFinished,
        group="engine",
        label=lambda trace, event: "backward done",
        why=_complete,
        rule=Rule(
            "When a graph task is complete, its final callbacks run.",
            "torch::autograd::GraphTask::mark_as_completed_and_run_post_processing",
            ENGINE,
        ),
        known=Known("observed", "the engine returns to Python"),
        panes=("engine", "backward graph"),
    )
    | Kind(
        ev.FinalCallbackQueued,
        group="engine",
        label=lambda trace, event: shortened(f"final callback {event.function} queued", WIDTH),
        why=lambda trace, event: _callback(event),
        rule=Rule(
            "A final callback belongs to the graph task that is running when it is queued. Outside a graph task, "
            "queue_callback raises an error.",
            "torch::autograd::Engine::queue_callback",
            ENGINE,
        ),
        known=unseen(QUEUE),
        panes=("engine", "calls"),
    )
    | Kind(
        ev.FinalCallbackCalled,
        group="engine",
        label=lambda trace, event: shortened(f"final callback {event.function}", WIDTH),
        why=lambda trace, event: _callback(event),
        rule=Rule(
            "Final callbacks run in the order in which they were queued. A callback that another one queues runs as "
            "well.",
            "torch::autograd::GraphTask::exec_post_processing",
            ENGINE,
        ),
        known=unseen(QUEUE),
        panes=("engine", "output"),
    )
)
