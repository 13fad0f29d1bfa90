"""A folded backward graph: repeated parts are stored once, with a rule that restores the rest.

Positions are those of ``Wiring.order``: every edge leads to a larger one. Nothing is lost: ``unfolded`` restores the
whole graph. ``repeats.py`` finds repeats, ``folding.py`` chooses the folds of a picture, and ``outputs/picture`` draws
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

Link = tuple[int, int] | None
"""An edge: the position of the Node that it leads to and its input_nr, or None for an empty edge."""

Stride = tuple[int, int]
"""The difference in position and input_nr of an edge from one iteration to the next."""


class Links(Struct, frozen=True):
    """The structure of a graph: the names of the Nodes in order, and the edges of each."""

    names: Sequence[str]
    edges: Sequence[Sequence[Link]]


class Repeat(Struct, frozen=True, eq=False):
    """Consecutive iterations of the same Nodes: the first iteration, and the differences of the others."""

    start: int
    period: int
    """The number of Nodes in an iteration."""
    iterations: int
    body: tuple[Item, ...]
    """The first iteration, which may be folded too."""
    strides: tuple[tuple[Stride, ...], ...]
    """The strides of each edge of each Node of the iteration."""
    exits: Mapping[tuple[int, int], Link]
    """The position and number of the edges of the last iterations that lead elsewhere, because no more iterations
    follow.
    """

    @property
    def stop(self) -> int:
        """The position after the last iteration."""
        return self.start + self.period * self.iterations


class Section(Struct, frozen=True):
    """Nodes that are drawn as one box."""

    start: int
    stop: int
    is_tree: bool
    """True if each Node but the first is used once, by one of the others, and at most one edge leads out."""
    function: str = ""
    """The function of the program whose call made all of them; empty if they are grouped for another reason."""
    module: str = ""
    """The module that all of them come from; empty if they are grouped for another reason."""


Item = int | Repeat | Section
"""One Node, by its position, or several Nodes."""


class Fold(Struct, frozen=True):
    """A folded graph. ``links`` has entries only for the positions that are kept."""

    items: tuple[Item, ...]
    names: Mapping[int, str]
    edges: Mapping[int, Sequence[Link]]


def start(item: Item) -> int:
    """Return the first position of an item."""
    return item if isinstance(item, int) else item.start


def stop(item: Item) -> int:
    """Return the position after an item."""
    return item + 1 if isinstance(item, int) else item.stop


def kept(items: Iterable[Item]) -> Iterator[int]:
    """Yield the positions whose edges are kept: all but those of the later iterations."""
    for item in items:
        if isinstance(item, Repeat):
            yield from kept(item.body)
        else:
            yield from range(start(item), stop(item))


def boxes(items: Iterable[Item]) -> int:
    """Return the number of boxes that are drawn."""
    return sum(boxes(item.body) if isinstance(item, Repeat) else 1 for item in items)


def repeats(items: Iterable[Item]) -> Iterator[Repeat]:
    """Yield all repeats, outer ones before nested ones."""
    for item in items:
        if isinstance(item, Repeat):
            yield item
            yield from repeats(item.body)


def sections(items: Iterable[Item]) -> Iterator[Section]:
    """Yield all sections, including those in repeats."""
    for item in items:
        if isinstance(item, Repeat):
            yield from sections(item.body)
        elif isinstance(item, Section):
            yield item


def everywhere(at: int, path: Sequence[Repeat]) -> Iterator[int]:
    """Yield the positions that a position in the first iterations of nested repeats represents, in order."""
    if not path:
        yield at
        return
    outer, *inner = path
    for iteration in range(outer.iterations):
        for place in everywhere(at, inner):
            yield place + iteration * outer.period


def with_body(repeat: Repeat, body: tuple[Item, ...]) -> Repeat:
    """Return the same repeat with another folding of its first iteration."""
    return Repeat(repeat.start, repeat.period, repeat.iterations, body, repeat.strides, repeat.exits)


def folded(links: Links, items: tuple[Item, ...]) -> Fold:
    """Fold a graph: keep the links of the kept positions."""
    positions = list(kept(items))
    return Fold(items, {at: links.names[at] for at in positions}, {at: links.edges[at] for at in positions})


def unfolded(fold: Fold) -> Links:
    """Restore the whole graph."""
    names, edges = dict(fold.names), dict(fold.edges)
    _unfold(fold.items, names, edges)
    return Links([names[at] for at in sorted(names)], [tuple(edges[at]) for at in sorted(edges)])


def _unfold(items: Iterable[Item], names: dict[int, str], edges: dict[int, Sequence[Link]]) -> None:
    for item in items:
        if isinstance(item, Repeat):
            _unfold(item.body, names, edges)
            for at in range(item.start + item.period, item.stop):
                iteration, place = divmod(at - item.start, item.period)
                names[at] = names[item.start + place]
                edges[at] = later_edges(item, iteration, place, edges[item.start + place])


def later_edges(repeat: Repeat, iteration: int, place: int, first: Sequence[Link]) -> tuple[Link, ...]:
    """Return the edges of a Node in an iteration, given those of the same Node in the first iteration."""
    return tuple(later_link(repeat, iteration, place, number, link) for number, link in enumerate(first))


def later_link(repeat: Repeat, iteration: int, place: int, number: int, first: Link) -> Link:
    """Return one edge of a Node in an iteration."""
    at = repeat.start + iteration * repeat.period + place
    if (at, number) in repeat.exits:
        return repeat.exits[at, number]
    further, inputs = repeat.strides[place][number]
    return None if first is None else (first[0] + iteration * further, first[1] + iteration * inputs)
