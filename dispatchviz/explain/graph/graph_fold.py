"""A backward graph folded: what repeats is kept once, with the rule that gives back the rest.

Positions are those of ``Wiring.order``: every edge leads to a larger one. Nothing is lost: ``unfolded`` makes the whole
graph again from what is kept. How repeats are found is in ``repeats.py``, what is folded in one picture in
``folding.py``, how it is drawn in ``outputs/picture``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

Link = tuple[int, int] | None
"""An edge: the position of the Node that it leads to and its input_nr; None for an empty one."""

Stride = tuple[int, int]
"""By how much the position and the input_nr of an edge grow from one iteration to the next."""


@dataclass(frozen=True, slots=True)
class Links:
    """The structure of a graph: the names of the Nodes in order, and the edges of each."""

    names: Sequence[str]
    edges: Sequence[Sequence[Link]]


@dataclass(frozen=True, slots=True, eq=False)
class Repeat:
    """The same Nodes several times over, one iteration after the other: the first iteration, and how the others
    differ.
    """

    start: int
    period: int
    """Nodes in an iteration."""
    iterations: int
    body: tuple[Item, ...]
    """The first iteration, which may be folded itself."""
    strides: tuple[tuple[Stride, ...], ...]
    """For each Node of the iteration, for each of its edges."""
    exits: Mapping[tuple[int, int], Link]
    """Position and number of the edges of the last iterations that lead elsewhere, because no more iterations follow.
    """

    @property
    def stop(self) -> int:
        """The position after the last iteration."""
        return self.start + self.period * self.iterations


@dataclass(frozen=True, slots=True)
class Section:
    """Nodes that are one box."""

    start: int
    stop: int
    is_tree: bool
    """Each Node but the first is used once, by one of the others, and at most one edge leads out."""
    function: str = ""
    """The function of the program in one call of which all of them were made; empty if that is not why."""
    module: str = ""
    """The module that all of them come from; empty if that is not why."""


Item = int | Repeat | Section
"""One Node, by its position, or several."""


@dataclass(frozen=True, slots=True)
class Fold:
    """A folded graph. ``links`` has entries only for the positions that are kept."""

    items: tuple[Item, ...]
    names: Mapping[int, str]
    edges: Mapping[int, Sequence[Link]]


def start(item: Item) -> int:
    """The first position of an item."""
    return item if isinstance(item, int) else item.start


def stop(item: Item) -> int:
    """The position after an item."""
    return item + 1 if isinstance(item, int) else item.stop


def kept(items: Iterable[Item]) -> Iterator[int]:
    """The positions whose edges are kept: all but those of the later iterations."""
    for item in items:
        if isinstance(item, Repeat):
            yield from kept(item.body)
        else:
            yield from range(start(item), stop(item))


def boxes(items: Iterable[Item]) -> int:
    """How many boxes are drawn."""
    return sum(boxes(item.body) if isinstance(item, Repeat) else 1 for item in items)


def repeats(items: Iterable[Item]) -> Iterator[Repeat]:
    """All repeats, an outer one before those within it."""
    for item in items:
        if isinstance(item, Repeat):
            yield item
            yield from repeats(item.body)


def sections(items: Iterable[Item]) -> Iterator[Section]:
    """All sections, those within repeats, too."""
    for item in items:
        if isinstance(item, Repeat):
            yield from sections(item.body)
        elif isinstance(item, Section):
            yield item


def everywhere(at: int, path: Sequence[Repeat]) -> Iterator[int]:
    """The positions that a position in the first iterations of repeats within each other stands for, in order."""
    if not path:
        yield at
        return
    outer, *inner = path
    for iteration in range(outer.iterations):
        for place in everywhere(at, inner):
            yield place + iteration * outer.period


def with_body(repeat: Repeat, body: tuple[Item, ...]) -> Repeat:
    """The same repeat with its first iteration folded otherwise."""
    return Repeat(repeat.start, repeat.period, repeat.iterations, body, repeat.strides, repeat.exits)


def folded(links: Links, items: tuple[Item, ...]) -> Fold:
    """What is kept of a graph."""
    positions = list(kept(items))
    return Fold(items, {at: links.names[at] for at in positions}, {at: links.edges[at] for at in positions})


def unfolded(fold: Fold) -> Links:
    """The whole graph again."""
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
    """The edges of a Node of some iteration, given those of the same Node of the first iteration."""
    return tuple(later_link(repeat, iteration, place, number, link) for number, link in enumerate(first))


def later_link(repeat: Repeat, iteration: int, place: int, number: int, first: Link) -> Link:
    """One of them."""
    at = repeat.start + iteration * repeat.period + place
    if (at, number) in repeat.exits:
        return repeat.exits[at, number]
    further, inputs = repeat.strides[place][number]
    return None if first is None else (first[0] + iteration * further, first[1] + iteration * inputs)
