"""Backward passes."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backwards import Backward
from dispatchviz.explain.graph.graph_history import backward_around
from dispatchviz.explain.sentences.engine_claims import edge_text
from dispatchviz.explain.sentences.labels.label_functions import WIDTH, Labels
from dispatchviz.explain.sentences.node_sentences import NO_NUMBER
from dispatchviz.explain.sentences.requested_gradients import requested_inputs
from dispatchviz.explain.trace_index.display_names import node_title, tensor_name
from dispatchviz.foundation.english import shaped, shortened

LABELS = Labels()


@LABELS.of(ev.BackwardStarted)
def _backward(trace: Trace, event: ev.BackwardStarted) -> str:
    roots = ", ".join(node_title(trace, node, event.seq) for node, _ in event.roots)
    requested = ", ".join(requested_inputs(trace, event))
    aim = f" for {requested}" if requested else ""
    return shortened(f"{'backward' if event.accumulate else 'grad'} from {roots}{aim}", WIDTH)


@LABELS.of(ev.DependenciesCounted)
def _counted(trace: Trace, event: ev.DependenciesCounted) -> str:
    edges = sum(number for _, number in event.counts)
    return f"{edges} edge{'' if edges == 1 else 's'} counted"


@LABELS.of(ev.ExecInfoPopulated)
def _exec_info(trace: Trace, event: ev.ExecInfoPopulated) -> str:
    needed, pruned = len(event.needed), len(event.pruned)
    return f"exec_info: {needed} Node{'' if needed == 1 else 's'} needed, {pruned} pruned"


@LABELS.of(ev.BackwardFinished)
def _backward_finished(trace: Trace, event: ev.BackwardFinished) -> str:
    return "backward done"


@LABELS.of(ev.FinalCallbackQueued)
def _callback_queued(trace: Trace, event: ev.FinalCallbackQueued) -> str:
    return shortened(f"final callback {event.function} queued", WIDTH)


@LABELS.of(ev.FinalCallbackCalled)
def _callback_called(trace: Trace, event: ev.FinalCallbackCalled) -> str:
    return shortened(f"final callback {event.function}", WIDTH)


@LABELS.of(ev.GradientReduced)
def _reduced(trace: Trace, event: ev.GradientReduced) -> str:
    return f"{tensor_name(trace, event.before, event.seq)} summed to {shaped(event.shape)}"


@LABELS.of(ev.GradientAccumulated)
def _accumulated(trace: Trace, event: ev.GradientAccumulated) -> str:
    return f"{tensor_name(trace, event.tensor, event.seq)}.grad ({event.how})"


@LABELS.of(ev.DependencyMet)
def _dependency(trace: Trace, event: ev.DependencyMet) -> str:
    node = node_title(trace, event.node, event.seq)
    if event.skipped:
        return f"{node} is not needed"
    return f"{node} waits for {event.left} more" if event.left else f"{node} has all its gradients"


@LABELS.of(ev.NodeQueued)
def _node_queued(trace: Trace, event: ev.NodeQueued) -> str:
    node = node_title(trace, event.node, event.seq)
    return f"{node} is {_queued(backward_around(trace, event.seq), event.node)}"


def _queued(backward: Backward | None, node: int) -> str:
    if backward is None or backward.needs(node):
        return "ready"
    return "queued to be captured" if backward.captures(node) else "queued, but not needed"


@LABELS.of(ev.NodeSkipped)
def _node_skipped(trace: Trace, event: ev.NodeSkipped) -> str:
    return f"{node_title(trace, event.node, event.seq)} does not run"


@LABELS.of(ev.NodeStarted)
def _node_started(trace: Trace, event: ev.NodeStarted) -> str:
    number = "" if event.sequence_nr == NO_NUMBER else f", seq {event.sequence_nr}"
    return f"run {node_title(trace, event.node, event.seq)}{number}"


@LABELS.of(ev.FormulaSkipped)
def _formula_skipped(trace: Trace, event: ev.FormulaSkipped) -> str:
    return f"no gradient for {edge_text(trace, event.node, event.edge, event.seq)}: not needed"


@LABELS.of(ev.NodeFinished)
def _node_finished(trace: Trace, event: ev.NodeFinished) -> str:
    return shortened(f"{node_title(trace, event.node, event.seq)} done", WIDTH)


@LABELS.of(ev.HookRan)
def _hook(trace: Trace, event: ev.HookRan) -> str:
    return shortened(f"{event.kind} {event.function}", WIDTH)


@LABELS.of(ev.AnomalyFound)
def _anomaly(trace: Trace, event: ev.AnomalyFound) -> str:
    return f"anomaly in {node_title(trace, event.node, event.seq)}"


@LABELS.of(ev.GradientBuffered)
def _buffered(trace: Trace, event: ev.GradientBuffered) -> str:
    tensor, node = tensor_name(trace, event.tensor, event.seq), node_title(trace, event.node, event.seq)
    return f"{tensor} for {node} ({event.how})"


@LABELS.of(ev.GradientCaptured)
def _captured(trace: Trace, event: ev.GradientCaptured) -> str:
    return f"result {event.position} taken at {node_title(trace, event.node, event.seq)}"


@LABELS.of(ev.VariablesReleased)
def _released(trace: Trace, event: ev.VariablesReleased) -> str:
    return f"{node_title(trace, event.node, event.seq)} releases its saved variables"
