"""Sentences of the engine: how a backward starts and ends, what Nodes do.

What is counted and needed before anything runs is in ``exec_info_sentences.py``, when a Node runs in
``ready_queue_sentences.py``, where gradients go in ``gradient_sentences.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from dispatchviz.core.autograd.engine.thread_pool import MAX_DEPTH
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import backward_around, history
from dispatchviz.explain.sentences import exec_info_sentences, gradient_sentences, ready_queue_sentences
from dispatchviz.explain.sentences.engine_claims import edge_text, pass_number, runs
from dispatchviz.explain.sentences.event_groups import EngineEvent
from dispatchviz.explain.sentences.requested_gradients import requested_inputs
from dispatchviz.explain.sentences.rules.knowledge import is_live
from dispatchviz.explain.sentences.sentence_claims import Claim, OutputDefined, SavedTensorsFreed
from dispatchviz.explain.sentences.statement import Statement, Statements
from dispatchviz.explain.trace_index.display_names import node_title, tensor_name
from dispatchviz.foundation.english import capital, listed, ordinal, shortened

LONGEST_NAME = 60
"""Cells of a callback's name."""


def why(trace: Trace, event: EngineEvent) -> Statements:
    """Why the engine does this now."""
    match event:
        case ev.BackwardStarted():
            return _started(trace, event)
        case ev.DependenciesCounted():
            return exec_info_sentences.counts(trace, event)
        case ev.ExecInfoPopulated():
            return exec_info_sentences.needs(trace, event)
        case ev.DependencyMet() | ev.NodeQueued() | ev.NodeStarted() | ev.NodeSkipped():
            return ready_queue_sentences.why(trace, event)
        case ev.NodeFinished():
            return _finished(trace, event)
        case ev.FormulaSkipped():
            return _skipped(trace, event)
        case ev.HookRan():
            return _hook(trace, event)
        case ev.AnomalyFound():
            return _anomaly(trace, event)
        case ev.GradientReduced() | ev.GradientBuffered() | ev.GradientAccumulated() | ev.GradientCaptured():
            return gradient_sentences.why(trace, event)
        case ev.VariablesReleased():
            return _released(trace, event)
        case ev.FinalCallbackQueued() | ev.FinalCallbackCalled():
            return _callback(event)
        case ev.BackwardFinished():
            return _complete(trace, event)
        case _:
            assert_never(event)


# -- start and end ----------------------------------------------------------------------------------------------------


def _started(trace: Trace, event: ev.BackwardStarted) -> Statements:
    roots = listed([node_title(trace, node, event.seq) for node, _ in dict.fromkeys(event.roots)])
    names = [tensor_name(trace, tensor, event.seq) for tensor in event.gradients if tensor is not None]
    given = f", with the gradient{'s' if len(names) > 1 else ''} {listed(names)}" if names else ""
    start = f"The engine starts at {roots}{given}"
    return (_aim(trace, event, start), *_circumstances(event))


def _aim(trace: Trace, event: ev.BackwardStarted, start: str) -> Statement:
    requested = listed(requested_inputs(trace, event))
    if not event.accumulate:
        text = (
            f"{start}, and returns what arrives for {requested or 'the inputs'} to the caller: no leaf's .grad is "
            "written."
        )
        return Statement("grad starts", text, _leaves(trace, event))
    if event.inputs:
        text = (
            f"{start}. What arrives for {requested}, which backward(inputs=) names, is accumulated into .grad; no "
            "other leaf's .grad is written."
        )
        if _names_an_interior_edge(trace, event):
            text = f"{start}, and runs the Nodes on the paths to {requested}: of the leaves only those get a .grad."
            return Statement("backward of a gradient edge starts", text, _leaves(trace, event))
        return Statement("backward of some inputs starts", text, _leaves(trace, event))
    text = f"{start}, and accumulates what arrives at each leaf into the leaf's .grad."
    return Statement("backward starts", text, _leaves(trace, event))


def _names_an_interior_edge(trace: Trace, event: ev.BackwardStarted) -> bool:
    """Whether an input is the edge of an interior Node: the Node runs, and no .grad is written."""
    leaves = history(trace).leaves
    named = zip(event.inputs, event.input_tensors, strict=False)
    return any(tensor is None and node not in leaves for (node, _), tensor in named)


def _leaves(trace: Trace, event: ev.BackwardStarted) -> tuple[Claim, ...]:
    """Which AccumulateGrad Nodes of the graph run."""
    known = history(trace)
    backward = known.backwards[event.seq]
    return runs(trace, event.seq, sorted((backward.nodes | backward.pruned) & known.leaves))


def _circumstances(event: ev.BackwardStarted) -> list[Statement]:
    found = []
    if event.create_graph:
        found.append(Statement("backward is recorded", "The backward pass is itself recorded (create_graph=True)."))
    if event.depth:
        text = "It is reentrant: it was started inside another backward pass, which waits for it."
        found.append(Statement("backward within a backward", text))
    if event.depth and not event.depth % (MAX_DEPTH + 1):
        text = (
            f"{MAX_DEPTH} reentrant passes stand on its caller's thread (MAX_DEPTH): this one runs on a thread of the "
            "engine's pool."
        )
        found.append(Statement("backward on a thread of the pool", text))
    return found


def _complete(trace: Trace, event: ev.BackwardFinished) -> Statements:
    backward = backward_around(trace, event.seq)
    if backward is not None and not backward.event.accumulate and not is_live(trace.header):
        text = "No Node of this graph task is queued or running any more: grad() gives the caller what was captured."
        return Statement("grad complete", text)
    live = is_live(trace.header)
    cause = "The engine returns" if live else "No Node of this graph task is queued or running any more"
    return Statement("backward complete", f"{cause}: {'this' if live else 'the'} backward pass is complete.")


def _callback(event: ev.FinalCallbackQueued | ev.FinalCallbackCalled) -> Statement:
    name, nth = shortened(event.function, LONGEST_NAME), ordinal(event.position + 1)
    if isinstance(event, ev.FinalCallbackQueued):
        text = (
            f"The final callback {name} is queued, the {nth} of this graph task (queue_callback): it runs once no Node "
            "of the task is queued or running."
        )
        return Statement("final callback queued", text)
    text = (
        f"No Node of this graph task is queued or running any more, its gradients are complete: the {nth} final "
        f"callback, {name}, runs."
    )
    return Statement("final callback runs", text)


# -- what Nodes do ----------------------------------------------------------------------------------------------------


def _finished(trace: Trace, event: ev.NodeFinished) -> Statement:
    node = node_title(trace, event.node, event.seq)
    if not event.gradients:
        return Statement("Node done, no gradients", f"{node} is done. It returns no gradients.")
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
        f"{node} does not compute the gradient of {of}: it would go to {to}, which this pass does not need "
        f"(task_should_compute_output({event.edge}) is false)."
    )
    claims = (OutputDefined(pass_number(trace, event.seq), event.node, event.edge, False),)
    return Statement("formula skipped", text, claims + (() if target is None else runs(trace, event.seq, [target])))


def _hook(trace: Trace, event: ev.HookRan) -> Statement:
    node = node_title(trace, event.node, event.seq)
    if event.kind == "retains-grad hook":
        if event.kept:
            text = (
                f"retain_grad() retains the gradient that arrives at {node}: it is copied into .grad of its tensor, "
                "or added to what is there."
            )
            return Statement("gradient retained", text)
        text = (
            f"retain_grad() would retain the gradient that arrives at {node}, but it is undefined, or the tensor is "
            "gone: no .grad is written."
        )
        return Statement("no gradient retained", text)
    called = f"A {event.kind} of {node} is called, {event.function}"
    if event.replaced:
        text = f"{called}, and what it returns replaces {_replaceable(event.kind)}."
        return Statement("hook replaces gradients", text)
    if event.kind == "post-accumulate hook":
        return Statement("hook after accumulation", f"{called}: .grad of the leaf is up to date by now.")
    return Statement(
        "hook replaces nothing", f"{called}, and returns nothing that replaces {_replaceable(event.kind)}."
    )


def _replaceable(kind: str) -> str:
    """What a hook may replace."""
    return {
        "tensor pre hook": "the gradient of its tensor",
        "pre hook": "the gradients that the Node receives",
        "post hook": "the gradients that the Node returned",
    }.get(kind, "a gradient")


def _anomaly(trace: Trace, event: ev.AnomalyFound) -> Statement:
    node = node_title(trace, event.node, event.seq)
    if not event.lines:
        text = (
            f"An error was raised in {node}. Anomaly mode was off when it was made, so the line that made it is not "
            "recorded."
        )
        return Statement("anomaly in an unknown line", text)
    lines = [line.strip() for line in event.lines.strip().splitlines()]
    return Statement("anomaly", f"An error was raised in {node}, which was made here: {'; '.join(lines[-2:])}.")


def _released(trace: Trace, event: ev.VariablesReleased) -> Statement:
    node = node_title(trace, event.node, event.seq)
    because = "the graph is not kept (retain_graph is False)"
    saved = history(trace).events.of_node(event.node, ev.VariableSaved)
    names = list(dict.fromkeys(e.name for e in saved if e.tensor is not None and e.seq < event.seq))
    if not names:
        return Statement("saved tensors released", f"{capital(node)} releases its saved variables: {because}.")
    claims = (SavedTensorsFreed(event.node, tuple(names)),)
    text = f"{node} releases its saved variables, {listed(names)}: {because}."
    return Statement("saved tensors released by name", text, claims)
