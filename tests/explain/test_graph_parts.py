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


@pytest.mark.parametrize("most", [20, 40])
def test_what_is_drawn_stays_while_the_node_is_near_its_middle(long: Trace, most: int) -> None:
    """A graph of 61 Nodes: for a part of 20 it is not put in order as a whole, for one of 40 it is."""
    start, end = long.steps_of(ev.BackwardStarted)[0], len(long)
    parts = [part_around(long, at, most) for at in range(start, end)]
    assert len({id(part.graph.wiring) for part in parts}) <= (LENGTH - most) // (most // 4) + 2
    assert all(len(part.graph) >= most * 3 // 4 for part in parts)
    assert all(part.graph.highlight is not None for part in parts)


def test_a_part_grows_with_its_program(long: Trace) -> None:
    for at in long.steps_of(ev.EdgesCollected)[40:]:
        wirings = [part_around(long, step, 10).graph.wiring for step in (at - 1, at, at + 1)]
        assert wirings[0] is not wirings[1] is wirings[2]
        assert backward_graph(long, at).highlight in wirings[1].uses


def _leaves(part: BackwardGraph) -> set[int]:
    return {outline.number for outline in part.outlines() if outline.has_leaf}
