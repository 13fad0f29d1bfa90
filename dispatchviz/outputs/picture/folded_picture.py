"""A folded backward graph as boxes, frames and arrows: their texts, and the edges that each arrow represents.

Only the first iteration of a repeat is drawn, in a frame. Edges to the next iteration lead to a small box at its end,
and from there an arrow leads to the Nodes after the last iteration. Not here: how a graph is folded
(``explain/graph/folding.py``), DOT (``folded_dot.py``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from dispatchviz.explain.graph.backward_graph import BackwardGraph
from dispatchviz.explain.graph.graph_fold import Fold, Item, Link, Repeat, Section, everywhere, later_link, start
from dispatchviz.explain.graph.graph_node import GraphNode, State
from dispatchviz.outputs.picture.dot import MOST_PORTS, changes_of
from dispatchviz.outputs.picture.folded_texts import Texts
from dispatchviz.outputs.picture.picture_options import USUAL, Options

Path = tuple[Repeat, ...]
"""The repeats around something, from the outermost."""


class Box(Struct, frozen=True):
    """A Node, the Nodes of a section, or the exit of a frame."""

    name: str
    title: str
    state: str
    lines: tuple[str, ...]
    ports: tuple[str, ...]
    """A text for each edge; empty if all edges leave at the bottom."""
    node: GraphNode | None
    """The Node that determines the colors; None if there is none."""
    looks: State
    within: Path
    stands_for: str = ""
    """For the exit of a frame: the box that an edge leads to in the next iteration."""
    is_changed: bool = False
    """True if it has changed since the compared step."""


class Arrow(Struct, frozen=True):
    """An arrow between two boxes."""

    tail: str
    port: int | None
    head: str
    label: str = ""
    is_unused: bool = False
    edges: int = 1
    """The number of edges that the arrow represents."""


class FoldedPicture(Struct):
    """A folded graph as a picture."""

    boxes: list[Box] = field(default_factory=list)
    frames: dict[Repeat, tuple[str, ...]] = field(default_factory=dict)
    arrows: list[Arrow] = field(default_factory=list)


def folded_picture(graph: BackwardGraph, fold: Fold, options: Options = USUAL) -> FoldedPicture:
    """Return the boxes and arrows of a folded graph."""
    work = _Drawing(graph, fold, options)
    for item in fold.items:
        work.draw(item, ())
    work.join()
    return work.picture


class _Place(Struct, frozen=True):
    """The box of a position, and the iterations of the repeats around it in which the Node is."""

    item: int | Section
    path: Path
    iterations: tuple[int, ...]


class _Drawing:
    def __init__(self, graph: BackwardGraph, fold: Fold, options: Options) -> None:
        self.graph, self.fold, self.options, self.picture = graph, fold, options, FoldedPicture()
        self.texts = Texts(graph, fold)
        self._changes = changes_of(graph, options)
        self._next: dict[tuple[str, ...], str] = {}
        self._ends: set[str] = set()
        self._starts: dict[int, list[int]] = {}

    # -- boxes --------------------------------------------------------------------------------------------------------

    def draw(self, item: Item, path: Path) -> None:
        if isinstance(item, Repeat):
            self.picture.frames[item] = self.texts.frame(item, path)
            for part in item.body:
                self.draw(part, (*path, item))
        elif isinstance(item, Section):
            self._section(item, path)
        else:
            self._node(item, path)

    def _node(self, at: int, path: Path) -> None:
        positions = list(everywhere(at, path))
        node, links = self.texts.node(at), self.fold.edges[at]
        ports: tuple[str, ...] = ()
        if self.options.says("edges") and 0 < len(links) <= MOST_PORTS and (len(links) > 1 or links[0] is None):
            ports = tuple(self.texts.port(node, number, len(positions) > 1) for number in range(len(links)))
        state, looks = self.texts.state(positions)
        lines = tuple(self.texts.facts(positions)) if self.options.says("saved") else ()
        self._box(Box(name(at), self.texts.title(positions), state, lines, ports, node, looks, path), positions)

    def _section(self, section: Section, path: Path) -> None:
        inside = range(section.start, section.stop)
        positions = [p for at in inside for p in everywhere(at, path)]
        state, looks = self.texts.state(positions)
        title, lines = self.texts.range_title(list(inside)), tuple(self.texts.section(section, path))
        made_by = section.function or section.module
        title = f"{made_by}: {title}" if made_by else title
        self._box(
            Box(name(section.start), title, state, lines, (), self.texts.node(section.start), looks, path), positions
        )

    def _box(self, box: Box, positions: Iterable[int] = ()) -> None:
        change = self.texts.change(positions, self._changes) if self._changes else ""
        if change:
            box = replace(box, state=", ".join(filter(None, [box.state, change])), is_changed=True)
        self.picture.boxes.append(box)

    # -- arrows -------------------------------------------------------------------------------------------------------

    def join(self) -> None:
        """Draw all arrows. Arrows of the same kind between two boxes become one."""
        found: dict[tuple[str, int | None, str, str, bool], int] = {}
        for box in list(self.picture.boxes):
            for arrow in self._arrows(box):
                key = arrow.tail, arrow.port, arrow.head, arrow.label, arrow.is_unused
                found[key] = found.get(key, 0) + 1
        several = Counter((tail, port, head) for tail, port, head, _, _ in found)
        bundles: dict[tuple[str, int | None, str], tuple[int, bool]] = {}
        for (tail, port, head, label, unused), count in found.items():
            if several[tail, port, head] > 2:
                so_far, all_unused = bundles.get((tail, port, head), (0, True))
                bundles[tail, port, head] = so_far + count, all_unused and unused
            else:
                text = f"{label} ({count} edges)".lstrip() if count > 1 else label
                self.picture.arrows.append(Arrow(tail, port, head, text, unused, count))
        for (tail, port, head), (count, unused) in bundles.items():
            self.picture.arrows.append(Arrow(tail, port, head, f"{count:,} edges", unused, count))

    def _arrows(self, box: Box) -> Iterator[Arrow]:
        if box.node is None:
            return
        first = int(box.name[1:])
        item = self._place(first).item
        for at in range(first, first + 1) if isinstance(item, int) else range(item.start, item.stop):
            for number, link in enumerate(self.fold.edges[at]):
                if link is None and not box.ports and not self.options.says("edges"):
                    continue
                within = link is not None and isinstance(item, Section) and link[0] < item.stop
                if within or (link is None and isinstance(item, Section)):
                    continue
                port = number if box.ports else None
                yield from self._lead(box.name, port, at, number, link, box.within, "")

    def _lead(
        self, tail: str, port: int | None, at: int, number: int, link: Link, path: Path, note: str
    ) -> Iterator[Arrow]:
        """Yield the arrow for an edge as it is in the first iteration of each repeat of ``path``, and the arrows that
        follow from it.
        """
        if link is None:
            yield Arrow(tail, port, self._end(tail, port, path), note)
        elif not path or link[0] < path[-1].start + path[-1].period:
            yield self._to(tail, port, link, path, note)
        elif link[0] < path[-1].stop:
            yield from self._to_next_iteration(tail, port, at, number, link, path)
        else:
            yield from self._out(tail, port, at, number, link, path)

    def _to(self, tail: str, port: int | None, link: Link, path: Path, note: str) -> Arrow:
        assert link is not None
        place = self._place(link[0])
        entered = [
            iteration_text(iteration, repeat)
            for repeat, iteration in zip(place.path, place.iterations, strict=True)
            if repeat not in path and iteration
        ]
        head = name(start(place.item))
        texts = [note] if note.startswith(SEVERAL) else [note, *entered, self.texts.input_text(link)]
        return Arrow(tail, port, head, ", ".join(filter(None, texts)), self.texts.is_pruned(link[0]))

    def _to_next_iteration(
        self, tail: str, port: int | None, at: int, number: int, link: Link, path: Path
    ) -> Iterator[Arrow]:
        """Yield the arrow to a small box for the Node of the next iteration, and from there to the target of the last
        iterations.
        """
        assert link is not None
        repeat = path[-1]
        ahead = (link[0] - repeat.start) // repeat.period
        place = self._place(link[0])
        ends = [
            self._link(repeat, at, number, link, iteration)
            for iteration in range(repeat.iterations - ahead, repeat.iterations)
        ]
        key = (name(start(place.item)), str(repeat.start), str(ahead), repr(ends))
        if key not in self._next:
            self._next[key] = box = f"next{len(self._next)}"
            title = f"{_NEXT[min(ahead, 2) - 1].format(ahead)}: {self.texts.node(start(place.item)).name}"
            self._box(Box(box, title, "", (), (), None, State.CREATED, path, name(start(place.item))))
            for iteration, end in enumerate(ends, repeat.iterations - ahead):
                there = at + iteration * repeat.period
                yield from self._lead(box, None, there, number, end, path[:-1], iteration_text(iteration, repeat))
        yield Arrow(tail, port, self._next[key], self.texts.input_text(link))

    def _out(self, tail: str, port: int | None, at: int, number: int, link: Link, path: Path) -> Iterator[Arrow]:
        """Yield the arrow out of a repeat, from each iteration to the same Node or to a different one."""
        repeat = path[-1]
        links = [self._link(repeat, at, number, link, iteration) for iteration in range(repeat.iterations)]
        if len(set(links)) == 1:
            yield from self._lead(tail, port, at, number, link, path[:-1], "each iteration")
            return
        heads: dict[tuple[int, Path], list[int]] = {}
        for iteration, end in enumerate(links):
            place = None if end is None else self._place(end[0])
            heads.setdefault((-1, ()) if place is None else (start(place.item), place.path), []).append(iteration)
        for iterations in heads.values():
            there = at + iterations[0] * repeat.period
            note = (
                iteration_text(iterations[0], repeat)
                if len(iterations) == 1
                else self._notes([links[iteration] for iteration in iterations], iterations, repeat)
            )
            yield from self._lead(tail, port, there, number, links[iterations[0]], path[:-1], note)

    def _notes(self, links: Sequence[Link], iterations: Sequence[int], repeat: Repeat) -> str:
        """Return the note on an arrow: ``from 3 iterations, input_nr 2 … 0``."""
        which = f"{SEVERAL}{len(iterations):,} iterations"
        inputs = [link[1] for link in links if link]
        if len(set(inputs)) > 1:
            return f"{which}, input_nr {inputs[0]} … {inputs[-1]}"
        places = [self._place(link[0]) for link in links if link]
        entered = [place.iterations[-1:] for place in places]
        if entered and entered[0] != entered[-1]:
            return f"{which} to iterations {entered[0][0] + 1} … {entered[-1][0] + 1}"
        return which

    def _link(self, repeat: Repeat, at: int, number: int, link: Link, iteration: int) -> Link:
        """Return the target of an edge of the first iteration in a later one."""
        return later_link(repeat, iteration, at - repeat.start, number, link) if iteration else link

    def _end(self, tail: str, port: int | None, path: Path) -> str:
        box = f"{tail}_{'' if port is None else port}_empty"
        if box not in self._ends:
            self._ends.add(box)
            self._box(Box(box, "no gradient", "", (), (), None, State.CREATED, path))
        return box

    def _place(self, at: int) -> _Place:
        """Return the place at which a position is drawn."""
        path: list[Repeat] = []
        iterations: list[int] = []
        items = self.fold.items
        while True:
            starts = self._starts.setdefault(id(items), [start(item) for item in items])
            item = items[bisect_right(starts, at) - 1]
            if not isinstance(item, Repeat):
                return _Place(item, tuple(path), tuple(iterations))
            iteration, place = divmod(at - item.start, item.period)
            path.append(item)
            iterations.append(iteration)
            items, at = item.body, item.start + place


SEVERAL = "from "
"""The beginning of the label of an arrow that represents edges to different places."""

_NEXT = ("next iteration", "{} iterations on")


def name(at: int) -> str:
    """Return the identifier of the box that begins at a position."""
    return f"p{at}"


def iteration_text(iteration: int, repeat: Repeat) -> str:
    """Return ``iteration 3`` or ``the last iteration``."""
    return "last iteration" if iteration == repeat.iterations - 1 else f"iteration {iteration + 1}"
