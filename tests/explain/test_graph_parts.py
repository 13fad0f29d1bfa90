"""A graph that is drawn in part or folded."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import BackwardGraph, Part, backward_graph, part_around
from dispatchviz.explain.graph.folding import fold
from dispatchviz.explain.graph.graph_fold import (
    Item,
    Link,
    Links,
    Repeat,
    Section,
    boxes,
    repeats,
    start,
    stop,
    unfolded,
)
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
def test_part_stays_while_its_node_is_near_the_middle(long: Trace, most: int) -> None:
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


NAMES = ("AddBackward0", "MulBackward0", "SinBackward0")


def same(one: Links, other: Links) -> bool:
    return list(one.names) == list(other.names) and [list(e) for e in one.edges] == [list(e) for e in other.edges]


def tiles(items: tuple[Item, ...], low: int, high: int) -> None:
    """The items follow on each other, without gaps; those of an iteration cover its first one."""
    for item in items:
        assert start(item) == low
        low = stop(item)
        if isinstance(item, Repeat):
            assert item.iterations >= 2
            tiles(item.body, item.start, item.start + item.period)
    assert low == high


LEAVES = 30
FoldedPart = tuple[str, list[int | str | None]] | tuple[int, list["Part"]]
"""A Node and where its edges lead, or a loop: iterations and its parts."""


def part(dice: random.Random, depth: int) -> FoldedPart:
    if depth and dice.random() < 0.4:
        return dice.randint(2, 6), [part(dice, depth - 1) for _ in range(dice.randint(1, 4))]
    leads = [dice.choice([1, 1, 1, 2, 3, 5, None, "shared", "one after the other"]) for _ in range(dice.randint(0, 3))]
    return dice.choice(NAMES), leads


def written_out(part: FoldedPart) -> list[tuple[str, list[int | str | None]]]:
    head, rest = part
    return (
        [(head, rest)]
        if isinstance(head, str)
        else [node for _ in range(head) for p in rest for node in written_out(p)]
    )


def looped(dice: random.Random) -> Links:
    """Loops within loops, with shared leaves, edges of all kinds, and here and there one that breaks the rule."""
    nodes = [node for _ in range(dice.randint(1, 5)) for node in written_out(part(dice, 3))][:300]
    last, count = len(nodes) + LEAVES - 1, 0
    edges: list[tuple[Link, ...]] = []
    for at, (_, leads) in enumerate(nodes):
        found: list[Link] = []
        for to in leads:
            count += to == "one after the other"
            target = len(nodes) + count % LEAVES if isinstance(to, str) and to != "shared" else last
            found.append(None if to is None else (min(at + to, last) if isinstance(to, int) else target, 0))
        edges.append(tuple(found))
    for _ in range(dice.choice([0, 0, 1, 3])):
        at = dice.randrange(len(nodes))
        edges[at] = tuple((dice.randint(at + 1, last), dice.randint(0, 2)) for _ in edges[at])
    return Links([*(name for name, _ in nodes), *["AccumulateGrad"] * LEAVES], [*edges, *[()] * LEAVES])


@settings(max_examples=400)
@given(st.randoms(use_true_random=False), st.integers(2, 40), st.booleans())
def test_unfolding_gives_the_graph_back(dice: random.Random, most: int, asked: bool) -> None:
    links = looped(dice)
    count = len(links.names)
    whole = {dice.randrange(count) for _ in range(dice.randint(1, 4))} if asked else set()
    found = fold(links, most, whole)
    tiles(found.items, 0, count)
    assert same(unfolded(found), links)
    assert whole <= set(_single(found.items)), "what was asked for is drawn on its own"


def _single(items: tuple[Item, ...]) -> list[int]:
    """Nodes that are a box of their own, and once only."""
    return [item for item in items if isinstance(item, int)]


def transformer(layers: int) -> Links:
    """Residual blocks with leaves of their own, a mask that all share, and a head."""
    names, edges = ["NllLossBackward0"], [((1, 0),)]
    last = 1 + 6 * layers
    for layer in range(layers):
        at = 1 + 6 * layer
        names += ["AddBackward0", "AddmmBackward0", "AccumulateGrad", "AccumulateGrad", "MulBackward0", "TanhBackward0"]
        edges += [((at + 6, 0), (at + 1, 0)), ((at + 2, 0), (at + 4, 0), (at + 3, 0)), (), ()]
        edges += [((at + 5, 0), (last + 1, 0)), ((at + 6, 0),)]
    return Links([*names, "EmbeddingBackward0", "AccumulateGrad"], [*edges, (), ()])


def test_layers_are_iterations() -> None:
    links = transformer(12)
    head, layers, *rest = fold(links, 100).items
    assert head == 0
    assert isinstance(layers, Repeat)
    assert (layers.start, layers.period, layers.iterations, dict(layers.exits)) == (1, 6, 12, {})
    assert rest == [73, 74]
    assert layers.strides[0] == ((6, 0), (6, 0)), "to the next layer, and within this one"
    assert layers.strides[4] == ((6, 0), (0, 0)), "the mask is the same for all"


def test_last_iteration_of_a_loop_may_differ() -> None:
    """The last layer has two Nodes with an edge of each kind where the next layer would be used."""
    names = [*["AddBackward0", "SinBackward0"] * 5, "AccumulateGrad", "AccumulateGrad"]
    edges: list[tuple[Link, ...]] = []
    for at in range(0, 10, 2):
        edges += [((at + 2, 0), (at + 1, 0)), ((at + 2, 0),)]
    edges[8] = ((11, 0), (9, 0))
    (repeat,) = repeats(fold(Links(names, [*edges, (), ()]), 100).items)
    assert (repeat.start, repeat.period, repeat.iterations) == (0, 2, 5)
    assert repeat.exits == {(8, 0): (11, 0)}


def test_a_loop_in_a_loop() -> None:
    names = ["SumBackward0", *["MulBackward0", *["AddBackward0"] * 4] * 5, "AccumulateGrad"]
    edges = [((at + 1, 0),) for at in range(len(names) - 1)]
    outer, inner = repeats(fold(Links(names, [*edges, ()]), 100).items)
    assert (outer.start, outer.period, outer.iterations) == (1, 5, 5)
    assert (inner.start, inner.period, inner.iterations) == (2, 1, 4)


def test_requested_node_appears_between_iterations() -> None:
    links = transformer(12)
    found = fold(links, 100, whole=[1 + 6 * 5 + 4])
    assert [item.iterations for item in repeats(found.items)] == [5, 6]
    assert set(range(31, 37)) <= set(_single(found.items))


def test_a_shared_leaf_within_reach_breaks_no_rule() -> None:
    """``z = z + x``, a thousand times."""
    names = [*["AddBackward0"] * 1000, "AccumulateGrad"]
    edges = [((at + 1, 0), (1000, 0)) for at in range(1000)]
    found = fold(Links(names, [*edges, ()]), 100)
    assert boxes(found.items) == 2
    assert len(found.names) == 2


def test_a_branch_without_use_elsewhere_is_a_tree() -> None:
    names = ["AddBackward0", "TBackward0", "AccumulateGrad"]
    edges: list[tuple[Link, ...]] = []
    for at in range(0, 90, 3):
        edges += [((at + 3, 0), (at + 1, 0)), ((at + 2, 0),), ()]
    kinds = [f"{name}{at}" if name == "AddBackward0" else name for at in range(30) for name in names]
    (tree,) = fold(Links(kinds, [*edges[:-3], ((89, 0), (88, 0)), (), ()]), 100).items
    assert tree == Section(0, 90, True)


@pytest.mark.parametrize("count", [500, 3000])
def test_a_graph_without_order_becomes_ranges(count: int) -> None:
    dice = random.Random(3)
    names = [dice.choice(NAMES) for _ in range(count)]
    edges = [
        tuple((dice.randint(at + 1, min(at + 40, count)), 0) for _ in range(dice.randint(1, 3))) for at in range(count)
    ]
    links = Links([*names, "AccumulateGrad"], [*edges, ()])
    found = fold(links, 60)
    assert boxes(found.items) <= 60
    assert same(unfolded(found), links)
