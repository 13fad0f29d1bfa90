"""The parts of a backward graph that a picture folds: first repeats, then trees of Nodes, then ranges, until it is
small.

Each fold covers consecutive Nodes in the order of the graph, in which every edge leads to a later Node. So the boxes of
a folded graph have an order too. ``graph_fold.py`` defines folds and shows that nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from dispatchviz.explain.graph.backward_graph import BackwardGraph
from dispatchviz.explain.graph.folded_calls import FoldedCalls
from dispatchviz.explain.graph.folded_modules import Boxed, FoldedModules
from dispatchviz.explain.graph.graph_fold import (
    Fold,
    Item,
    Link,
    Links,
    Repeat,
    Section,
    boxes,
    folded,
    kept,
    start,
    stop,
    with_body,
)
from dispatchviz.explain.graph.node_groups import Cluster, Path, UserPlaces, groups
from dispatchviz.explain.graph.repeats import FEWEST, WORTH, RepeatFinder, Stretch
from dispatchviz.explain.graph.selected_nodes import selected_nodes

PAGE = 12
"""The number of boxes above which the Nodes of a function call are drawn as one box."""

FEWEST_BOXES = 3
"""The smallest number of boxes that folding calls may leave."""

DEPTH = 8
"""The greatest depth of nested repeats."""

FEW = 24
"""The number of boxes from which trees are drawn as one box."""


Calls = Callable[[int], Path]
"""The calls of the program's functions in which the Node at a position was made, outermost first."""


def fold(
    links: Links,
    most: int,
    whole: Collection[int] = (),
    calls: Calls | None = None,
    groups: Mapping[int, Path] | None = None,
    boxed: Boxed | None = None,
) -> Fold:
    """Fold a graph to about ``most`` boxes. The Nodes at the positions in ``whole`` are drawn one by one.

    Nodes of different ``groups`` do not become one tree. If the groups are ``boxed``, each one is a box instead.
    """
    work = _Folding(links, whole, groups or {})
    if boxed:
        there = work.items(0, len(links.names), DEPTH if boxed.is_folded else 0)
        return folded(links, work.with_ranges(FoldedModules(groups or {}, boxed.opened).items(there), most))
    items = work.items(0, len(links.names), DEPTH)
    if boxes(items) > FEW:
        trees = work.with_trees(items)
        items = _with_calls(work, items, trees, calls) if calls and boxes(trees) > PAGE else trees
    return folded(links, work.with_ranges(items, most))


def _with_calls(work: _Folding, items: tuple[Item, ...], trees: tuple[Item, ...], calls: Calls) -> tuple[Item, ...]:
    """Fold nested calls first, and outer calls only if there are still too many boxes."""
    paths = {at: calls(at) for at in kept(items)}
    found = trees
    for depth in range(max(map(len, paths.values()), default=0), 0, -1):
        smaller = FoldedCalls(work.is_free, calls, paths, depth).items(items)
        with_trees = work.with_trees(smaller)
        if not FEWEST_BOXES <= boxes(with_trees) < boxes(found):
            continue
        items, found = smaller, with_trees
        if boxes(found) <= PAGE:
            break
    return found


def fold_graph(
    graph: BackwardGraph,
    most: int,
    expand: Iterable[str] = (),
    cluster: Cluster = "none",
    boxed: Boxed | None = None,
) -> Fold:
    """Fold a ``BackwardGraph``. The Nodes that ``expand`` names are drawn one by one. Calls of functions are folded
    unless the Nodes are in other groups.

    Raise DispatchvizError for a name that matches nothing.
    """
    order = fold_order(graph)
    places = {number: at for at, number in enumerate(order)}
    user, found = UserPlaces(graph.trace), groups(graph, cluster)
    whole = {places[number] for number in selected_nodes(graph, expand)}
    calls: Calls | None = (lambda at: user.calls(order[at])) if cluster in ("none", "function") else None
    paths = {places[number]: path for number, path in found.items()}
    return fold(_links(graph, places), most, whole, calls, paths, boxed)


def fold_order(graph: BackwardGraph) -> tuple[int, ...]:
    """Return the numbers of the Nodes in the order for folding: leaves that are used everywhere come last.

    In their usual place they would be in the last iteration that uses them, which would then differ from the others.
    """
    order, uses = graph.wiring.order, graph.wiring.uses
    shared = {number for number in order if uses[number] >= FEWEST and graph.outline(number).has_leaf}
    return (*(n for n in order if n not in shared), *(n for n in order if n in shared))


def links_of(graph: BackwardGraph) -> Links:
    """Return the structure of a graph in folding order."""
    return _links(graph, {number: at for at, number in enumerate(fold_order(graph))})


def _links(graph: BackwardGraph, places: Mapping[int, int]) -> Links:
    outlines = [graph.outline(number) for number in places]
    return Links([node.name for node in outlines], [[_link(edge, places) for edge in node.edges] for node in outlines])


def _link(edge: Link, places: Mapping[int, int]) -> Link:
    """Return the link of an edge. An edge to a Node outside the graph is not drawn."""
    return None if edge is None or edge[0] not in places else (places[edge[0]], edge[1])


class _Folding:
    """A graph while it is folded."""

    def __init__(self, links: Links, whole: Collection[int], groups: Mapping[int, Path]) -> None:
        self._links, self._finder, self._groups = links, RepeatFinder(links), groups
        self._whole = np.zeros(len(links.names), np.bool_)
        self._whole[list(whole)] = True
        self._uses = self._finder.uses

    def is_free(self, at: int) -> bool:
        """Return whether no caller asked for the Node at a position."""
        return not self._whole[at]

    # -- repeats ------------------------------------------------------------------------------------------------------

    def items(self, low: int, high: int, depth: int) -> tuple[Item, ...]:
        """Fold the repeats in a range of the order."""
        pieces = [piece for found in self._finder.find(low, high) for piece in self._foldable(found)] if depth else []
        if not pieces:
            return tuple(range(low, high))
        items: list[Item] = []
        ends = [low, *(end for piece in pieces for end in (piece.start, piece.stop)), high]
        for number, (begin, end) in enumerate(pairwise(ends)):
            items += [self._repeat(pieces[number // 2], depth)] if number % 2 else self.items(begin, end, depth - 1)
        return tuple(items)

    def _foldable(self, found: Stretch) -> Iterator[Stretch]:
        """Yield the iterations before, between and after those that are partly drawn in full."""
        asked = self._whole[found.start : found.stop].reshape(found.iterations, found.period).any(axis=1)
        ends = [-1, *np.flatnonzero(asked).tolist(), found.iterations]
        for before, after in pairwise(ends):
            piece = Stretch(found.start + (before + 1) * found.period, found.period, after - before - 1)
            if piece.saved >= WORTH:
                yield piece

    def _repeat(self, stretch: Stretch, depth: int) -> Repeat:
        repeat = self._finder.repeat(stretch)
        end = stretch.start + stretch.period
        iterations = self._uses[stretch.start : stretch.stop].reshape(stretch.iterations, stretch.period)
        self._uses[stretch.start : end] = iterations.max(axis=0)
        body = self.items(stretch.start, end, depth - 1)
        return Repeat(repeat.start, repeat.period, repeat.iterations, body, repeat.strides, repeat.exits)

    # -- trees --------------------------------------------------------------------------------------------------------

    def with_trees(self, items: Iterable[Item]) -> tuple[Item, ...]:
        """Replace trees of consecutive Nodes with one item, also inside the iterations of repeats."""
        done: list[Item] = []
        row: list[int] = []
        for item in (*items, None):
            if isinstance(item, int):
                row.append(item)
                continue
            done += self._trees(row)
            row = []
            if item is not None:
                done.append(with_body(item, self.with_trees(item.body)) if isinstance(item, Repeat) else item)
        return tuple(done)

    def _trees(self, row: Sequence[int]) -> Iterator[Item]:
        place = 0
        while place < len(row):
            size = self._tree(row[place], row[-1] + 1)
            yield Section(row[place], row[place] + size, True) if size > 1 else row[place]
            place += size

    def _tree(self, first: int, end: int) -> int:
        """Return the number of Nodes of a tree. Each is used once, by an earlier Node of the tree, and at most one edge
        leads out.
        """
        open_ends: set[int] = set()
        best, out = 1, 0
        for at in range(first, end):
            if self._whole[at] or (at > first and at not in open_ends) or self._group(at) != self._group(first):
                break
            if at in open_ends:
                open_ends.remove(at)
                out -= 1
            links = [link for link in self._links.edges[at] if link]
            out += len(links)
            open_ends.update(link[0] for link in links if self._uses[link[0]] == 1)
            if out <= 1:
                best = at - first + 1
        return best

    def _group(self, at: int) -> Path:
        return self._groups.get(at, ())

    # -- ranges -------------------------------------------------------------------------------------------------------

    def with_ranges(self, items: tuple[Item, ...], most: int) -> tuple[Item, ...]:
        """Cut a row that is still too long where few edges cross."""
        parts = [
            with_body(i, self.with_ranges(i.body, max(most // 2, 2))) if isinstance(i, Repeat) else i for i in items
        ]
        if boxes(parts) <= most:
            return tuple(parts)
        done: list[Item] = []
        size, row = -(-boxes(parts) * 2 // most), list[Item]()
        for part in parts:
            row.append(part)
            if isinstance(part, int) and self._whole[part]:
                done += [*self._ranges(row[:-1], size), part]
                row = []
        return (*done, *self._ranges(row, size))

    def _ranges(self, row: Sequence[Item], size: int) -> Iterator[Item]:
        """Cut a row into ranges of about ``size`` items, at most twice as many."""
        place = 0
        while place < len(row):
            ends = range(place + (size + 1) // 2, min(place + 2 * size, len(row)) + 1) or range(len(row), len(row) + 1)
            end = min(ends, key=lambda end: (self._finder.crossing[stop(row[end - 1])], -end))
            yield Section(start(row[place]), stop(row[end - 1]), False) if end - place > 1 else row[place]
            place = end
