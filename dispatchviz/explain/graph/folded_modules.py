"""The Nodes of a module as one item of a folded graph: the outermost modules, and the contents of opened ones.

``node_groups.py`` decides which module a Node comes from, for these boxes and for the frames around Nodes. Nodes of a
module that are not in a row become several items. In a repeat, all iterations must agree. A module that contains
everything in the graph or in an iteration is opened, because a single box would say nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import Struct

from dispatchviz.explain.graph.graph_fold import Item, Repeat, Section, everywhere, start, stop, with_body
from dispatchviz.explain.graph.node_groups import Group, Path


class Boxed(Struct, frozen=True):
    """The options for drawing modules as boxes."""

    opened: tuple[str, ...] = ()
    """The names of the modules whose contents are drawn, as in ``Section.module``."""
    is_folded: bool = True
    """True if repeats are drawn once as well."""


class FoldedModules:
    """The modules of a graph. ``paths`` has the modules of each position, outermost first."""

    def __init__(self, paths: Mapping[int, Path], opened: Collection[str]) -> None:
        self._paths, self._opened = paths, opened

    def items(self, items: Iterable[Item], around: tuple[Repeat, ...] = (), depth: int = 0) -> tuple[Item, ...]:
        """Replace the Nodes of each module with one item. A module counts if it is nested in ``depth`` others."""
        there = tuple(items)
        found = tuple(self._folded(there, around, depth))
        is_all = len(found) == 1 and isinstance(found[0], Section)
        return self.items(there, around, depth + 1) if is_all else found

    def _folded(self, items: tuple[Item, ...], around: tuple[Repeat, ...], depth: int) -> Iterator[Item]:
        for groups, run in groupby(items, lambda item: self._module(item, around, depth)):
            together = list(run)
            title = in_all_iterations([group.title for group in groups]) if groups else ""
            if groups and title in self._opened:
                yield from self._folded(tuple(together), around, depth + 1)
            elif groups and stop(together[-1]) - start(together[0]) > 1:
                yield Section(start(together[0]), stop(together[-1]), False, module=title)
            else:
                yield from (self._inside(item, around, depth) for item in together)

    def _inside(self, item: Item, around: tuple[Repeat, ...], depth: int) -> Item:
        if not isinstance(item, Repeat):
            return item
        return with_body(item, self.items(item.body, (*around, item), depth))

    def _module(self, item: Item, around: tuple[Repeat, ...], depth: int) -> tuple[Group, ...]:
        """Return the module of an item in each surrounding iteration; empty if its Nodes come from several modules or
        from none.
        """
        iterations = zip(*(everywhere(at, around) for at in range(start(item), stop(item))), strict=True)
        found = list[Group]()
        for positions in iterations:
            groups = {path[depth] if len(path) > depth else None for path in map(self._path, positions)}
            group = groups.pop()
            if groups or group is None:
                return ()
            found.append(group)
        return tuple(found)

    def _path(self, at: int) -> Path:
        return self._paths.get(at, ())


ANOTHER = "*"
"""The part of a leaf's name that differs in each iteration."""

OTHERS = " …"
"""The end of the name of a leaf that differs in each iteration."""


def in_all_iterations(names: Sequence[str]) -> str:
    """Return one name for the leaves of all iterations: ``layers.*.up.bias``, or ``x …`` if the names have no common
    part.
    """
    parts = [name.split(".") for name in names]
    if len(set(names)) == 1:
        return names[0]
    if len({len(split) for split in parts}) > 1 or not any(len(set(part)) == 1 for part in zip(*parts, strict=True)):
        return f"{names[0]}{OTHERS}"
    return ".".join(part[0] if len(set(part)) == 1 else ANOTHER for part in zip(*parts, strict=True))
