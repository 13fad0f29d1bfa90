"""A backward graph as SVG without a layout program: a row for each box, lines at the left, gradients flow down.

It is drawn if Graphviz is missing, gives up or takes too long. Each row costs the same, however many there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from xml.sax.saxutils import escape

from dispatchviz.explain.graph.graph_node import State
from dispatchviz.foundation.english import shortened
from dispatchviz.foundation.shown_text import shown
from dispatchviz.outputs.picture.dot import FONT, LOOKS
from dispatchviz.outputs.picture.folded_picture import Arrow, Box, FoldedPicture

ROW, LANE, DOT = 22, 14, 5
"""Height of a row, width of a lane, radius of a Node's dot."""

MOST_LANES = 200
"""The number of lines that are drawn beside each other. Further lines are drawn over the last one."""

LONGEST = 160
"""The largest length of a row's text."""


def plain_svg(picture: FoldedPicture, title: Iterable[str]) -> str:
    """Return the picture. The same graph gives the same text."""
    rows = _in_order(picture)
    lines = [*title]
    top = ROW * (len(lines) + 1)
    lanes = _Lanes(rows, picture.arrows, top)
    head = [_text(ROW / 2, ROW * (number + 1), line) for number, line in enumerate(lines)]
    body = [
        *lanes.drawn(),
        *(part for at, box in enumerate(rows) for part in _row(box, lanes.x[at], top + ROW * at, lanes.width[at])),
    ]
    frames = _frames(rows, picture, top)
    size = f'width="{LONGEST * 7 + max(lanes.width, default=0)}" height="{top + ROW * (len(rows) + 1)}"'
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT},Verdana,Geneva,sans-serif" font-size="12">'
    )
    return "\n".join([opening, '<rect width="100%" height="100%" fill="#FFFFFF"/>', *frames, *head, *body, "</svg>\n"])


def _in_order(picture: FoldedPicture) -> list[Box]:
    """Return the boxes by position. A box without a position follows the last box that leads to it. Stubs of empty
    edges are left out.
    """
    boxes = [box for box in picture.boxes if box.node is not None]
    extra = [box for box in picture.boxes if box.node is None and not box.name.endswith("_empty")]
    rank = {box.name: (float(box.name[1:]), 0) for box in boxes}
    for number, box in enumerate(extra, 1):
        tails = [rank[arrow.tail] for arrow in picture.arrows if arrow.head == box.name and arrow.tail in rank]
        frame = box.within[-1]
        last = max(
            (rank[b.name] for b in boxes if b.within[: len(box.within)] == box.within), default=(float(frame.start), 0)
        )
        rank[box.name] = (max([last, *tails])[0], number)
    return sorted([*boxes, *extra], key=lambda box: rank[box.name])


class _Lanes:
    """The lanes of the lines. All edges to a box share one."""

    def __init__(self, rows: Sequence[Box], arrows: Iterable[Arrow], top: int) -> None:
        self._rows = {box.name: at for at, box in enumerate(rows)}
        self._top = top
        self.x: list[int] = []
        """The x coordinate of each row's dot."""
        self.width: list[int] = []
        """The x coordinate of each row's text."""
        self._parts: list[str] = []
        self._active: list[int | None] = []
        leaving: dict[int, list[int]] = defaultdict(list)
        for arrow in arrows:
            if arrow.tail in self._rows and arrow.head in self._rows:
                leaving[self._rows[arrow.tail]].append(self._rows[arrow.head])
        for at in range(len(rows)):
            self._row(at, sorted(set(leaving[at])))

    def drawn(self) -> list[str]:
        """Return the lines."""
        return self._parts

    def _row(self, at: int, targets: Sequence[int]) -> None:
        lane = self._active.index(at) if at in self._active else self._free()
        x, y = self._place(lane), self._top + ROW * at
        if lane < len(self._active):
            self._active[lane] = None
        self.x.append(x)
        for target in targets:
            if target <= at:
                continue
            if target not in self._active:
                self._take(lane if lane == len(self._active) or self._active[lane] is None else self._free(), target)
            to = self._place(self._active.index(target))
            end = self._top + ROW * target - DOT
            if to == x:
                self._parts.append(_line(f"M{x} {y + DOT}V{end - ROW // 2}"))
            else:
                self._parts.append(
                    _line(f"M{x} {y + DOT}Q{x} {y + ROW // 2} {to} {y + ROW}V{max(end - ROW // 2, y + ROW)}")
                )
        used = [number for number, led in enumerate(self._active) if led is not None]
        self.width.append(max([x, *map(self._place, used)]) + LANE)
        for number, led in enumerate(self._active):
            if led == at + 1:
                self._arrive(number, at + 1)

    def _arrive(self, lane: int, at: int) -> None:
        first = self._active.index(at)
        x, end = self._place(lane), self._top + ROW * at - DOT
        self._parts.append(_line(f"M{x} {end - ROW // 2}L{self._place(first)} {end}"))

    def _take(self, lane: int, target: int) -> None:
        if lane == len(self._active):
            self._active.append(None)
        self._active[lane] = target

    def _free(self) -> int:
        return self._active.index(None) if None in self._active else len(self._active)

    def _place(self, lane: int) -> int:
        return LANE * (min(lane, MOST_LANES) + 1)


def _row(box: Box, x: int, y: int, begin: int) -> Iterator[str]:
    fill, line, _, width = LOOKS[box.looks if box.node is not None else State.CREATED]
    yield f'<circle cx="{x}" cy="{y}" r="{DOT}" fill="{fill}" stroke="{line}" stroke-width="{width}"/>'
    texts = [box.title, *([box.state] if box.state else []), *box.lines]
    if box.ports:
        texts.append(f"edges {', '.join(box.ports)}")
    yield _text(begin, y + 4, shortened("   ".join(texts), LONGEST))


def _frames(rows: Sequence[Box], picture: FoldedPicture, top: int) -> Iterator[str]:
    for repeat, lines in picture.frames.items():
        inside = [at for at, box in enumerate(rows) if repeat in box.within]
        y, height = top + ROW * (inside[0] - 0.5), ROW * (inside[-1] - inside[0] + 1)
        place = f'x="2" y="{y}" width="100%" height="{height}"'
        yield f'<rect {place} fill="#F4F4E8" fill-opacity="0.6" stroke="#8A8A6A"/>'
        label = escape(shown(lines[0]))
        yield f'<text x="{LONGEST * 7}" y="{y + 14}" text-anchor="end" fill="#6A6A4A">{label}</text>'


def _line(path: str) -> str:
    return f'<path d="{path}" fill="none" stroke="#333333"/>'


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x}" y="{y}" xml:space="preserve">{escape(shown(text))}</text>'
