"""The Nodes of one module as one item of a folded graph: the outermost modules, and what opened ones contain.

Which module a Node comes from is decided in ``node_groups.py``, for these boxes as for the frames around Nodes. Nodes
of a module that do not stand in a row become several items. Of a repeat all iterations have to agree. A module that is
all there is, in the graph or in an iteration, is taken as opened: one box would say nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from dispatchviz.explain.graph.graph_fold import Item, Repeat, Section, everywhere, start, stop, with_body
from dispatchviz.explain.graph.node_groups import Group, Path


@dataclass(frozen=True, slots=True)
class Boxed:
    """That modules are boxes, and which are not."""

    opened: tuple[str, ...] = ()
    """What the modules are called whose insides are drawn, as ``Section.module`` has it."""
    is_folded: bool = True
    """What repeats is drawn once, too."""


class FoldedModules:
    """The modules of one graph; ``paths``: those that each position is in, the outermost first."""

    def __init__(self, paths: Mapping[int, Path], opened: Collection[str]) -> None:
        self._paths, self._opened = paths, opened

    def items(self, items: Iterable[Item], around: tuple[Repeat, ...] = (), depth: int = 0) -> tuple[Item, ...]:
        """Some items with each module as one that is within ``depth`` others."""
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
        """The module of an item in each iteration of what is around it; none if its Nodes are of several or of none."""
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
"""In the name of a leaf: in each iteration another part of the path."""

OTHERS = " …"
"""After the name of a leaf that is another one in each iteration."""


def in_all_iterations(names: Sequence[str]) -> str:
    """One name for the leaves of all iterations: ``layers.*.up.bias``; ``x …`` of names that have no part in common."""
    parts = [name.split(".") for name in names]
    if len(set(names)) == 1:
        return names[0]
    if len({len(split) for split in parts}) > 1 or not any(len(set(part)) == 1 for part in zip(*parts, strict=True)):
        return f"{names[0]}{OTHERS}"
    return ".".join(part[0] if len(set(part)) == 1 else ANOTHER for part in zip(*parts, strict=True))
