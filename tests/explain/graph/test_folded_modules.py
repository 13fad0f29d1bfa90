from __future__ import annotations

from collections import Counter

import pytest

from dispatchviz.explain.graph.backward_graph import BackwardGraph, backward_graph
from dispatchviz.explain.graph.folded_modules import Boxed
from dispatchviz.explain.graph.folding import fold_graph, fold_order
from dispatchviz.explain.graph.graph_fold import repeats, sections, unfolded
from dispatchviz.explain.graph.node_groups import groups
from tests.explain.programs import traced
from tests.module_blocks import BLOCKS, ON_ONE_LINE, PROGRAM


@pytest.fixture(scope="module")
def graph() -> BackwardGraph:
    return backward_graph(traced(PROGRAM))


def boxed(graph: BackwardGraph, *opened: str, is_folded: bool = False) -> dict[str, set[int]]:
    """The Nodes in each box, by the module."""
    fold, order = fold_graph(graph, 100, (), "module", Boxed(opened, is_folded)), fold_order(graph)
    assert Counter(unfolded(fold).names) == Counter(node.name for node in graph)
    return {each.module: {order[at] for at in range(each.start, each.stop)} for each in sections(fold.items)}


def within(graph: BackwardGraph, module: str) -> set[int]:
    return {node for node, path in groups(graph, "module").items() if any(group.title == module for group in path)}


def test_a_box_has_all_nodes_of_an_outermost_module(graph: BackwardGraph) -> None:
    found = boxed(graph)
    assert found.keys() == {f"net[{block}]" for block in range(BLOCKS)}
    assert all(nodes == within(graph, module) for module, nodes in found.items())


def test_what_is_within_an_opened_module_is_boxes(graph: BackwardGraph) -> None:
    assert boxed(graph, "net[1]").keys() == {"net[0]", "net[1].up", "net[1].down", "net[2]", "net[3]"}
    assert boxed(graph, "net[1]", "net[1].up").keys() == {"net[0]", "net[1].down", "net[2]", "net[3]"}
    assert boxed(graph, "net[1]")["net[1].up"] == within(graph, "net[1].up")


def test_a_module_that_is_a_turn_is_no_box_but_those_within_it_are(graph: BackwardGraph) -> None:
    fold = fold_graph(graph, 100, (), "module", Boxed())
    assert [repeat.turns for repeat in repeats(fold.items)] == [BLOCKS]
    assert boxed(graph, is_folded=True).keys() == {"*.up", "*.down"}


def test_a_module_that_is_all_there_is_is_no_box() -> None:
    graph = backward_graph(traced(PROGRAM.replace(f"range({BLOCKS})", "range(1)")))
    assert boxed(graph).keys() == {"net[0].up", "net[0].down"}


def test_modules_that_one_line_calls_are_boxes_of_their_own() -> None:
    graph = backward_graph(traced(ON_ONE_LINE))
    blocks = {f"model.{block}" for block in range(BLOCKS)}
    found = boxed(graph)
    assert found.keys() == {*blocks, f"model.{BLOCKS}"}
    assert len({len(found[block]) for block in blocks}) == 1
    inner = {"model.1.net.0", "model.1.net.2", "model.1.norm"}
    assert boxed(graph, "model.1").keys() == found.keys() - {"model.1"} | inner


def test_without_modules_nothing_is_boxed() -> None:
    graph = backward_graph(traced("import torch\nx = torch.ones(2, requires_grad=True)\n(x * x).sum().backward()\n"))
    assert boxed(graph) == {}
