"""Tests that a Node has the same structure, whether it is read alone or with all others."""

from __future__ import annotations

from dispatchviz.explain.graph.graph_history import GraphHistory
from tests.graphs import chain


def test_one_node_is_read_as_all_are() -> None:
    trace = chain(40)
    alone, together = GraphHistory(trace), GraphHistory(trace)
    nodes = list(alone.events.seen[1])
    together.structures.load(nodes)
    for at in (0, len(trace) // 2, len(trace) - 1, len(trace) // 2):
        for node in nodes:
            assert alone.structures.structure(node, at) == together.structures.structure(node, at)
    assert len({alone.structures.structure(node, len(trace) - 1).name for node in nodes}) > 1
