"""A folded backward graph as DOT text, with a cluster for each frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from dispatchviz.explain.graph.backward_graph import BackwardGraph
from dispatchviz.explain.graph.folded_modules import ANOTHER, OTHERS
from dispatchviz.explain.graph.graph_fold import Fold
from dispatchviz.outputs.picture.dot import (
    CHANGED,
    LOOKS,
    MOST_USES,
    UNUSED,
    Drawing,
    Frame,
    Pen,
    draw_frames,
    frames_legend,
    legend,
    node_link,
    when,
)
from dispatchviz.outputs.picture.folded_frames import folded_frames
from dispatchviz.outputs.picture.folded_picture import Arrow, Box, FoldedPicture, folded_picture
from dispatchviz.outputs.picture.folded_texts import DOWN
from dispatchviz.outputs.picture.picture_options import USUAL, Options


def folded_drawing(graph: BackwardGraph, fold: Fold, options: Options = USUAL) -> Drawing:
    """Draw a folded graph."""
    picture = folded_picture(graph, fold, options)
    pen = Pen()
    _Writer(pen, picture, graph).write(folded_frames(graph, fold, picture, options))
    first, *others = title(graph, picture, options)
    return pen.drawing([first, *when(graph, options), *others, *frames_legend(options)])


def title(graph: BackwardGraph, picture: FoldedPicture, options: Options = USUAL) -> Iterator[str]:
    """Yield the lines above the picture."""
    drawn = sum(box.node is not None for box in picture.boxes)
    yield f"Backward graph of {graph.header.program}: {len(graph):,} Nodes in {drawn:,} boxes"
    yield from legend(graph, any(": " in box.state for box in picture.boxes), options.of_many_steps)
    if picture.frames:
        yield "A frame: Nodes that repeat, one iteration after the other; only the first iteration is drawn"
    lines = [line for box in picture.boxes for line in box.lines]
    if any(DOWN in line for line in lines):
        yield f"Nodes in one box: each leads to the next line ({DOWN}) and to the Nodes in brackets"
        yield "leaf x: the AccumulateGrad of x"
    if any(f"{OTHERS}{end}" in line for line in lines for end in ",)") or any(line.endswith(OTHERS) for line in lines):
        yield f"leaf x{OTHERS}: the AccumulateGrad of another tensor in each iteration"
    if any(f".{ANOTHER}." in line for line in lines):
        yield f"leaf a.{ANOTHER}.b: the same, with another word for {ANOTHER} in each iteration"


class _Writer:
    def __init__(self, pen: Pen, picture: FoldedPicture, graph: BackwardGraph) -> None:
        self._pen, self._picture, self._graph = pen, picture, graph
        self._boxes = {box.name: box for box in picture.boxes}
        self._uses = Counter(arrow.head for arrow in picture.arrows)
        self._drawn: set[str] = set()

    def write(self, frames: Mapping[str, Sequence[Frame]]) -> None:
        """Write all boxes and arrows, and frames around the boxes, by name."""
        for box in self._picture.boxes:
            self._box(box)
        for arrow in self._picture.arrows:
            self._arrow(arrow)
        draw_frames(
            self._pen, {name: frames[name if name in frames else name.partition("_")[0]] for name in self._pen.names}
        )

    def _box(self, box: Box) -> None:
        if box.node is None:
            self._pen.box(box.name, self._pen.text(box.title), **(EMPTY if box.name.endswith("_empty") else NEXT))
            return
        title = f"<t>{self._pen.text(box.title)}"
        if box.state:
            title = f"{{{title}|{self._pen.text(box.state)}}}"
        ports = "|".join(f"<e{n}>{self._pen.text(text)}" for n, text in enumerate(box.ports))
        rows = [title, self._pen.lines(box.lines), f"{{{ports}}}" if ports else ""]
        label = f"{{{'|'.join(row for row in rows if row)}}}"
        look = {**self._look(box), **(CHANGED if box.is_changed else {})}
        self._pen.box(box.name, label, **look, **node_link(self._pen, self._graph, box.node))

    def _look(self, box: Box) -> dict[str, str]:
        fill, line, style, width = LOOKS[box.looks]
        leaf = box.node is not None and box.node.leaf is not None and len(box.title) < 60 and not box.ports
        number = "" if box.node is None else f"n{box.node.number}"
        return {
            "id": number,
            "class": f"{number} {box.looks.name.lower()}",
            "style": f"filled,{style}",
            "fillcolor": fill,
            "color": line,
            "penwidth": width,
            "shape": "Mrecord" if leaf and box.title.startswith("AccumulateGrad") else "record",
        }

    def _arrow(self, arrow: Arrow) -> None:
        tail_box, box = self._boxes[arrow.tail], self._boxes[arrow.head]
        tail = arrow.tail + (":s" if arrow.port is None else f":e{arrow.port}:s")
        head = arrow.head
        is_leaf = box.node is not None and box.node.leaf is not None
        if is_leaf and arrow.head in self._drawn and self._uses[arrow.head] > MOST_USES:
            head = f"{arrow.tail}_{arrow.port}_{arrow.head}_{len(self._pen.edges)}"
            self._pen.box(
                head, self._pen.text(box.title), **{**self._look(box), "fontsize": "11", "margin": "0.08,0.03"}
            )
        elif box.ports:
            head += ":t:n"
        elif box.node is not None:
            head += ":n"
        self._drawn.add(arrow.head)
        line = dict(UNUSED if arrow.is_unused else {} if is_leaf else {"weight": "8"})
        if arrow.head.endswith("_empty"):
            line = {"style": "dashed", "arrowhead": "none"}
        if tail_box.node is None:
            tail = arrow.tail
        if arrow.label:
            line["label"] = self._pen.text(arrow.label)
        self._pen.edge(tail, head, **line)


NEXT = {"shape": "box", "fontsize": "11", "style": "rounded,dashed,filled", "fillcolor": "#FFFFFF", "color": "#8A8A6A"}
EMPTY = {"shape": "plain", "fontsize": "11", "fontcolor": "#444444", "class": "empty"}
