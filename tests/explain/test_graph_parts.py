"""The part of a big graph around a step: the same Nodes as in the whole graph, made without putting that in order."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import BackwardGraph, Part, backward_graph, part_around
from tests.graphs import chain

LENGTH = 60


@pytest.fixture(scope="module")
def long() -> Trace:
    return chain(LENGTH)


def steps(trace: Trace) -> range:
    return range(trace.steps_of(ev.HistorySet)[-1] // 2, len(trace), 7)


def number(part: Part) -> int:
    return part.above + len(part.graph) + part.below


def test_a_graph_that_fits_is_whole(long: Trace) -> None:
    part = part_around(long, len(long) - 1, 1000)
    assert (part.above, part.below) == (0, 0)
    assert list(part.graph.nodes) == list(backward_graph(long, len(long) - 1).nodes)


def test_every_node_is_shown_or_counted(long: Trace) -> None:
    assert {number(part_around(long, at, 10)) - len(backward_graph(long, at)) for at in steps(long)} == {0}


def test_the_node_of_the_step_is_shown_as_in_the_whole_graph(long: Trace) -> None:
    for at in steps(long):
        whole, part = backward_graph(long, at), part_around(long, at, 10).graph
        assert part.highlight == whole.highlight
        assert part.highlight is None or part[part.highlight] == whole[part.highlight]


def test_nodes_are_in_the_order_of_the_whole_graph(long: Trace) -> None:
    for at in steps(long):
        whole, part = backward_graph(long, at), part_around(long, at, 10).graph
        numbered = [node for node in part.wiring.order if node not in _leaves(part)]
        assert numbered == [node for node in whole.wiring.order if node in set(numbered)]


def test_users_outside_the_part_are_counted(long: Trace) -> None:
    at = len(long) - 1
    whole, part = backward_graph(long, at), part_around(long, at, 10).graph
    assert {node: whole.wiring.uses[node] for node in part.wiring.order} == dict(part.wiring.uses)


def _leaves(part: BackwardGraph) -> set[int]:
    return {outline.number for outline in part.outlines() if outline.has_leaf}
