"""Sentences on the engine's work before any Node runs: counting gradients, and finding the Nodes that are needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backwards import Backward
from dispatchviz.explain.graph.graph_history import backward_around, history
from dispatchviz.explain.sentences.engine_claims import pass_number, requested_input, requested_inputs, runs
from dispatchviz.explain.sentences.sentence_claims import Claim, EdgesCounted, GradCaptured, TopologicalBelow
from dispatchviz.explain.sentences.statement import Statement, Statements
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.foundation.english import counted, listed

SHOWN = 4
"""The number of Nodes that a sentence names of a longer list."""


def counts(trace: Trace, event: ev.DependenciesCounted) -> Statements:
    """The number of edges that lead to each Node."""
    if not event.counts:
        text = "Before any Node runs, the engine counts the edges into each Node. There are none."
        return Statement("no edges counted", text)
    shown = event.counts[:SHOWN]
    several = ", ".join(f"{node_title(trace, node, event.seq)} has {number}" for node, number in shown)
    rest = len(event.counts) - len(shown)
    more = f", and so on for {counted(rest, 'more Node')}" if rest else ""
    text = (
        f"Before any Node runs, the engine counts the edges into each Node (dependencies): {several}{more}. A Node is "
        "ready when that many gradients have arrived, defined or not."
    )
    backward = backward_around(trace, event.seq)
    pruned = dict(backward.exec_info[0].pruned) if backward is not None and backward.exec_info else {}
    task = pass_number(trace, event.seq)
    claims = [EdgesCounted(task, node, n, pruned.get(node) != "topological_nr") for node, n in event.counts]
    return Statement("edges counted", text, tuple(claims))


def needs(trace: Trace, event: ev.ExecInfoPopulated) -> Statements:
    """The Nodes that have to run for the requested gradients, and those that need not."""
    backward = backward_around(trace, event.seq)
    if backward is None:
        return _running(trace, event, event.needed, "the requested gradients")
    requested = listed(requested_inputs(trace, backward.event, event.seq))
    needed = [node for node in event.needed if node in backward.nodes or _is_graph_root(trace, node)]
    ran = {node: place for place, node in enumerate(backward.ran)}
    needed.sort(key=lambda node: ran.get(node, len(ran)))
    found = [_running(trace, event, needed, requested), *_captured(trace, event, backward)]
    return (*found, *_pruned(trace, event, backward, requested), *_unreached(trace, event, backward))


def _running(trace: Trace, event: ev.ExecInfoPopulated, needed: Sequence[int], requested: str) -> Statement:
    if not needed:
        backward = backward_around(trace, event.seq)
        roots = [node for node, _ in backward.event.roots] if backward is not None else []
        text = f"Only the paths to {requested} are needed (exec_info), so no Node of this graph has to run."
        return Statement("exec_info needs no Node", text, runs(trace, event.seq, roots))
    verb = "runs" if len(needed) == 1 else "run"
    text = f"Only the paths to {requested} are needed (exec_info), so {_some(trace, needed, event.seq)} {verb}."
    return Statement("exec_info needs Nodes", text, runs(trace, event.seq, needed))


def _is_graph_root(trace: Trace, node: int) -> bool:
    """Return whether a Node is a GraphRoot, which runs although no edge leads to it."""
    made = history(trace).events.of_node(node, ev.NodeCreated)
    return any(event.name == "torch::autograd::GraphRoot" for event in made)


def _captured(trace: Trace, event: ev.ExecInfoPopulated, backward: Backward) -> list[Statement]:
    taken = list(dict.fromkeys(node for node, _, _ in event.captures if node in backward.nodes))
    if not taken:
        return []
    only = [node for node in taken if node not in backward.needed]
    captures = f"The engine captures the gradient at {_some(trace, taken, event.seq)} for the caller."
    need_not_run = (
        (f" {_some(trace, only, event.seq)} {'does' if len(only) == 1 else 'do'} not need to run for that.")
        if only
        else ""
    )
    text = captures + need_not_run
    return [Statement("exec_info captures", text, runs(trace, event.seq, only))]


def _pruned(trace: Trace, event: ev.ExecInfoPopulated, backward: Backward, requested: str) -> list[Statement]:
    captured = {node for node, _, _ in event.captures}
    pruned = [(node, why) for node, why in event.pruned if node not in captured]
    aside = [node for node, why in pruned if why == "should_execute"]
    below = [node for node, why in pruned if why == "topological_nr"]
    found = []
    if aside:
        text = (
            f"{_some(trace, aside, event.seq)} {_are(aside)} not needed, because no path leads from there to "
            f"{requested}."
        )
        found.append(Statement("Node pruned", text, runs(trace, event.seq, aside)))
    if below:
        minimum = _minimum(trace, event)
        text = (
            f"{_some(trace, below, event.seq)} {_are(below)} not needed, because the topological number there is below "
            f"{minimum}, the smallest among the requested Nodes. The engine visits nothing beyond."
        )
        behind = sorted(backward.pruned - set(aside))
        numbers = tuple(TopologicalBelow(backward.event.graph_task, node, minimum) for node in behind)
        claims: tuple[Claim, ...] = (*runs(trace, event.seq, behind), *numbers)
        found.append(Statement("Node pruned by its topological number", text, claims))
    return found


def _minimum(trace: Trace, event: ev.ExecInfoPopulated) -> int:
    beside = () if event.parent is None else trace.children(event.parent)
    before = takewhile(lambda e: e.seq < event.seq, beside)
    return next((e.min_topo_nr for e in before if isinstance(e, ev.DependenciesCounted)), 0)


def _unreached(trace: Trace, event: ev.ExecInfoPopulated, backward: Backward) -> list[Statement]:
    there = backward.nodes
    away = [(place, *edge) for place, edge in enumerate(backward.event.inputs) if edge[0] not in there]
    if not away:
        return []
    names = listed(
        list(dict.fromkeys(requested_input(trace, backward.event, place, event.seq) for place, _, _ in away))
    )
    if backward.event.accumulate:
        return [
            Statement("input not in the graph of backward", f"No path leads to {names}, so no gradient arrives there.")
        ]
    task = backward.event.graph_task
    claims = tuple(GradCaptured(task, place, False) for place, _, _ in away)
    text = (
        f"No path leads to {names}, so the gradient there is undefined. Depending on allow_unused and "
        "materialize_grads, grad() returns None or zeros, or raises an error."
    )
    return [Statement("input not in the graph of grad", text, claims)]


def _are(nodes: Sequence[int]) -> str:
    return "is" if len(nodes) == 1 else "are"


def _some(trace: Trace, nodes: Iterable[int], at: int) -> str:
    titles = [node_title(trace, node, at) for node in nodes]
    rest = len(titles) - SHOWN
    return listed(titles) if rest <= 0 else f"{', '.join(titles[:SHOWN])} and {counted(rest, 'more Node')}"
