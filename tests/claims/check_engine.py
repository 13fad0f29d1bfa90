"""Checks of the engine's work."""

from __future__ import annotations

from typing import Any

from dispatchviz.explain.sentences.sentence_claims import (
    EdgesCounted,
    GradCaptured,
    GradWritten,
    NodeRuns,
    OutputDefined,
    RunsBefore,
    SavedTensorsFreed,
    TopologicalBelow,
)
from tests.claims.checks import Answer, Question, checks, difference
from tests.claims.engine_runs import Call, Watch, calls, watch_outputs, watch_writes
from truth.observers.runs import longest_path


@checks(NodeRuns)
def node_runs(claim: NodeRuns, question: Question) -> Answer:
    """Check with a hook on every Node that can be reached. After an error, the Nodes that would have run are
    unknown.
    """
    found = question.in_pass(claim.graph_task, claim.node)
    if found is None or question.pytorch.run.error is not None:
        return None
    engine_pass, place = found
    return difference(claim.runs, place in engine_pass.ran)


@checks(RunsBefore)
def runs_before(claim: RunsBefore, question: Question) -> Answer:
    """Check by the order of the hooks. Each thread has its own counter, and one thread runs many programs here."""
    if "threading" in question.shared.source:
        return None
    first, then = (question.in_pass(claim.graph_task, node) for node in (claim.node, claim.other))
    if first is None or then is None:
        return None
    ran = first[0].ran
    if first[1] not in ran or then[1] not in ran:
        return f"did not run: {[place for _, place in (first, then) if place not in ran]}"
    return difference(True, ran.index(first[1]) < ran.index(then[1]))


@checks(EdgesCounted)
def edges_counted(claim: EdgesCounted, question: Question) -> Answer:
    """Count ``next_functions``. Several roots are below a GraphRoot, which has an edge to each."""
    found = question.in_pass(claim.graph_task, claim.node)
    call = _call(claim.graph_task, question, watch_outputs)
    if found is None or call is None:
        return None
    if not claim.everywhere:
        return None  # PyTorch does not show which Nodes it visited
    node = call.nodes[found[1]]
    edges = sum(target is node for other in call.nodes for target, _ in other.next_functions)
    return difference(claim.edges, edges + (call.roots.count(node) if len(call.roots) > 1 else 0))


@checks(TopologicalBelow)
def topological_below(claim: TopologicalBelow, question: Question) -> Answer:
    """Check by the longest path along ``next_functions``."""
    found = question.in_pass(claim.graph_task, claim.node)
    if found is None:
        return None
    return difference(True, longest_path(found[0].nodes[found[1]], {}) < claim.number)


@checks(OutputDefined)
def output_defined(claim: OutputDefined, question: Question) -> Answer:
    """Check with a hook that gets the results of the Node."""
    found, call = question.in_pass(claim.graph_task, claim.node), _call(claim.graph_task, question, watch_outputs)
    if found is None or call is None or found[1] not in call.outputs:
        return None
    given = call.outputs[found[1]]
    return difference(claim.defined, claim.edge < len(given) and given[claim.edge])


@checks(GradCaptured)
def grad_captured(claim: GradCaptured, question: Question) -> Answer:
    """Check by the result of the engine."""
    call = _call(claim.graph_task, question, watch_outputs)
    if call is None or claim.position >= len(call.captured):
        return None  # an unused input is an error without allow_unused
    return difference(claim.defined, call.captured[claim.position])


@checks(GradWritten)
def grad_written(claim: GradWritten, question: Question) -> Answer:
    """Check by the memory of the gradient that arrived, and by the tensor that was ``.grad`` before."""
    found, call = question.in_pass(claim.graph_task, claim.node), _call(claim.graph_task, question, watch_writes)
    if found is None or call is None or not call.written.get(found[1]):
        return None
    return difference(claim.how, call.written[found[1]])


@checks(SavedTensorsFreed)
def saved_tensors_freed(claim: SavedTensorsFreed, question: Question) -> Answer:
    """Check by reading the saved tensors, which raises an error."""
    places = [
        (at, each.nodes.index(claim.node)) for at, each in enumerate(question.moment.passes) if claim.node in each.nodes
    ]
    theirs = question.pytorch.passes
    if not places or len(theirs) != len(question.moment.passes):
        return None
    at, place = places[-1]
    node = theirs[at].nodes[place]
    read = [_reads(node, name) for name in claim.names]
    return None if None in read else difference([False] * len(read), read)


def _reads(node: Any, name: str) -> bool | None:
    """Return whether a saved tensor can be read, or None if Python does not expose it."""
    attribute = f"_saved_{name}"
    if not hasattr(type(node), attribute):
        if not hasattr(type(node), "saved_tensors"):
            return None
        attribute = "saved_tensors"
    try:
        getattr(node, attribute)
    except RuntimeError as error:
        return "backward through the graph a second time" not in str(error) and "after they have" not in str(error)
    return True


def _call(graph_task: int, question: Question, watch: Watch) -> Call | None:
    """Return the engine's call for a graph task, unless it failed."""
    tasks = question.shared.graph_tasks
    if graph_task not in tasks:
        return None
    found = calls(question.shared.source, question.moment.position, watch)
    if len(found) != len(tasks):
        return None
    call = found[tasks.index(graph_task)]
    return None if call.failed else call
