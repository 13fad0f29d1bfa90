"""The Nodes made in one call of a function of the program, as one item of a folded graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby

from dispatchviz.explain.graph.graph_fold import Item, Repeat, Section, everywhere, start, stop, with_body
from dispatchviz.explain.graph.node_groups import Path


class FoldedCalls:
    """The calls at one depth of nested functions."""

    def __init__(
        self, is_free: Callable[[int], bool], calls: Callable[[int], Path], paths: Mapping[int, Path], depth: int
    ) -> None:
        self._is_free, self._calls, self._paths, self._depth = is_free, calls, paths, depth

    def items(self, items: Iterable[Item], around: tuple[Repeat, ...] = ()) -> tuple[Item, ...]:
        """Replace the items that a call made in a row with one item. A call that made all of an iteration is not
        folded.
        """
        there = tuple(items)
        found = tuple(self._folded(there, around))
        return there if around and len(found) == 1 and isinstance(found[0], Section) else found

    def _folded(self, items: tuple[Item, ...], around: tuple[Repeat, ...]) -> Iterator[Item]:
        for call, run in groupby(items, lambda item: self._call(item, around)):
            together = list(run)
            if call is not None and len(together) > 1:
                yield Section(start(together[0]), stop(together[-1]), False, call[-1].title)
            else:
                yield from (self._inside(item, around) for item in together)

    def _inside(self, item: Item, around: tuple[Repeat, ...]) -> Item:
        return with_body(item, self.items(item.body, (*around, item))) if isinstance(item, Repeat) else item

    def _call(self, item: Item, around: tuple[Repeat, ...]) -> Path | None:
        """Return the call that made a Node, directly or in a nested call, or None if it cannot be folded."""
        if isinstance(item, Repeat) or (isinstance(item, Section) and not item.function):
            return None
        at = start(item)
        path = self._paths[at]
        if not self._is_free(at) or len(path) < self._depth or not self._is_alike(at, path, around):
            return None
        return path[: self._depth]

    def _is_alike(self, at: int, path: Path, around: tuple[Repeat, ...]) -> bool:
        """Return whether the Nodes of all iterations were made in calls of the same functions."""
        names = [group.title for group in path[: self._depth]]
        others = (self._calls(other)[: self._depth] for other in everywhere(at, around))
        return all([group.title for group in other] == names for other in others)
