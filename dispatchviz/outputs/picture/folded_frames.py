"""The frames of a folded picture: around repeats, and around the Nodes of one module, function or line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dispatchviz.explain.graph.backward_graph import BackwardGraph
from dispatchviz.explain.graph.folded_modules import in_all_iterations
from dispatchviz.explain.graph.folding import fold_order
from dispatchviz.explain.graph.graph_fold import Fold, everywhere, repeats, sections
from dispatchviz.explain.graph.node_groups import Group, Path, common_path, groups
from dispatchviz.outputs.picture.dot import Frame
from dispatchviz.outputs.picture.folded_picture import Box, FoldedPicture
from dispatchviz.outputs.picture.picture_options import Options


def folded_frames(graph: BackwardGraph, fold: Fold, picture: FoldedPicture, options: Options) -> dict[str, list[Frame]]:
    """Return the frames around each box, from the outermost."""
    work = _Frames(graph, fold, picture, options)
    return {box.name: list(work.around(box)) for box in picture.boxes}


class _Frames:
    def __init__(self, graph: BackwardGraph, fold: Fold, picture: FoldedPicture, options: Options) -> None:
        order, found = fold_order(graph), groups(graph, options.cluster)
        self._paths = {at: found.get(number, ()) for at, number in enumerate(order)}
        self._titles = {repeat: "\n".join(lines) for repeat, lines in picture.frames.items()}
        self._whole = {each: common_path(self._in(range(each.start, each.stop))) for each in repeats(fold.items)}
        self._iteration = {
            each: common_path(self._in(range(each.start, each.start + each.period))) for each in self._whole
        }
        self._sections = {section.start: section for section in sections(fold.items)}

    def around(self, box: Box) -> Iterator[Frame]:
        """Yield the frames of a box.

        A repeat is within the groups that contain all its iterations, and around the groups within an iteration. A
        group that is one whole iteration has no frame besides that of the repeat.
        """
        first, last = self._groups(box)
        outside = 0
        for repeat in box.within:
            depth = max(len(self._whole[repeat]), outside)
            yield from self._framed(first[outside:depth], last[outside:depth])
            yield f"repeat {repeat.start} {repeat.period}", self._titles[repeat]
            outside = max(depth, len(self._iteration[repeat]))
        yield from self._framed(first[outside:], last[outside:])

    def _groups(self, box: Box) -> tuple[Path, Path]:
        """Return the groups of a box's Nodes in the first iterations and in the last ones, without the groups of the
        frame around it.
        """
        if box.node is None:
            around = self._whole[box.within[-1]] if box.within else ()
            return around, around
        at = int(box.name[1:])
        section = self._sections.get(at)
        there = range(at, section.stop if section else at + 1)
        last = [[*everywhere(place, box.within)][-1] for place in there]
        paths = common_path(self._in(there)), common_path(self._in(last))
        return _around_module(section.module, *paths) if section and section.module else paths

    def _in(self, positions: Iterable[int]) -> list[Path]:
        return [self._paths[at] for at in positions]

    def _framed(self, first: Path, last: Path) -> Iterator[Frame]:
        for place, group in enumerate(first):
            yield str(group.key), _title(group, last[place] if place < len(last) else group)


def _title(group: Group, other: Group) -> str:
    return in_all_iterations([group.title, other.title])


def _around_module(module: str, first: Path, last: Path) -> tuple[Path, Path]:
    """Return the groups around a box that is a module."""
    titles = [_title(group, other) for group, other in zip(first, last, strict=False)]
    depth = titles.index(module) if module in titles else len(titles)
    return first[:depth], last[:depth]
