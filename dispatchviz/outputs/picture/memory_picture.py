"""The memory of saved tensors as a picture: a curve of all of it over the steps, and a bar for each storage.

The bars are those of the storages that are kept at one step, which is the peak unless the reader asks for another.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.memory.kept_memory import Curve, KeptMemory, Part, kept_memory, united, without
from dispatchviz.explain.graph.memory.memory_card import LIMITS, KeptStorage, memory_card, moment
from dispatchviz.explain.graph.memory.storage_sizes import plain_bytes
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.foundation.english import numbered, plain_dtype, shaped, shortened
from dispatchviz.foundation.shown_text import shown
from dispatchviz.outputs.picture.svg import FONTS, RenderError
from dispatchviz.outputs.picture.svg_picture import SvgPicture

MOST = 24
"""The largest number of bars."""

LEFT, WIDE, RIGHT = 380, 640, 30
"""The width of the labels, of the steps and of the right margin."""

HEAD, HIGH, ROW = 92, 150, 22
"""The height of the title, of the curve and of a bar's row."""

LONGEST = 56
"""The largest length of a label."""

LINE_LABEL = 22
"""The least distance of two line numbers below the curve."""

ALONE, HELD, MAYBE = "#F9C4A0", "#D3E7F5", "#F4F4F4"
"""The colors of memory that only the graph keeps, of memory that a variable holds too, and of unsure memory."""

EDGE, GRAY = "#333333", "#555555"


def memory_picture(trace: Trace, steps: tuple[int, int] | None = None) -> SvgPicture:
    """Return the picture. One step selects the storages that are drawn as bars; two steps select a part of the trace.

    Raise RenderError if no tensor is kept there.
    """
    known = kept_memory(trace)
    first, last = steps if steps and steps[0] < steps[1] else (0, len(trace) - 1)
    at = _highest(known.total, first, last) if steps is None or steps[0] < steps[1] else steps[0]
    if not known.total.at(at):
        where = f"at step {at}" if steps else "in this trace"
        raise RenderError(f"nothing to draw: no saved tensor is kept {where}")
    work = _Drawing(trace, known, first, last, at)
    return SvgPicture("\n".join(work.parts()), _note(work.more))


def _highest(total: Curve, first: int, last: int) -> int:
    """Return the first step with the most memory in a range."""
    inside = total.steps[bisect_right(total.steps, first) : bisect_right(total.steps, last)]
    return max((first, *inside), key=total.at)


def _note(more: int) -> str:
    if not more:
        return ""
    return f"{numbered(more, 'smaller storage')} of that step {'is' if more == 1 else 'are'} not drawn"


class _Bar(Struct, frozen=True):
    """A row of the lower part."""

    label: str
    kept: Sequence[Part]
    alone: Sequence[Part]
    """The part of it in which no variable is known to hold the storage."""


class _Drawing:
    """The picture of a range of steps, with bars for the storages that are kept at one of them."""

    def __init__(self, trace: Trace, known: KeptMemory, first: int, last: int, at: int) -> None:
        self._trace, self._known, self._first, self._last, self._at = trace, known, first, last, at
        card = memory_card(trace, at, MOST)
        self.more = card.more
        self._bars = [self._bar(each) for each in sorted(card.storages, key=lambda each: each.begin)]
        self._upper = known.total.plus(known.unsure)
        """The memory that is kept, and that which may be kept too."""
        self._most = max(self._upper.most(first, last + 1), 1)
        self._is_unsure = known.unsure.most(first, last + 1) > 0
        self._top = HEAD + (20 if self._is_unsure else 0)
        """The top of the curve."""
        self._rows = self._top + HIGH + 64
        """The top of the first bar."""

    def parts(self) -> Iterator[str]:
        """Yield the lines of the file."""
        limits = [LIMITS] if is_unseen(self._trace.header, ev.VariablesReleased) else []
        bottom = self._rows + ROW * len(self._bars)
        size = f'width="{LEFT + WIDE + RIGHT}" height="{bottom + 20 * len(limits) + 24}"'
        yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONTS}" font-size="12">'
        yield f"<title>{escape(shown(self._title()))}</title>"
        yield '<rect width="100%" height="100%" fill="#FFFFFF"/>'
        yield from _grouped([*self._curves(), *self._bar_shapes(bottom)])
        yield from _grouped([*self._head(), *self._scale(), *self._labels()])
        yield from (_text(12, bottom + 24 + 20 * place, text, GRAY) for place, text in enumerate(limits))
        yield "</svg>\n"

    # -- texts --------------------------------------------------------------------------------------------------------

    def _title(self) -> str:
        return f"Memory that saved tensors keep: {self._trace.header.program}"

    def _head(self) -> Iterator[str]:
        yield _text(12, 22, self._title(), size=15)
        yield _text(12, 42, "From left to right: the steps. Each storage counts once, as a whole.", GRAY)
        yield from (_text(x + 18, y + 10, text) for x, y, _, text in self._legend())
        x = self._x(self._at)
        is_peak = self._known.total.at(self._at) == self._known.total.most(self._first, self._last + 1)
        peak = "peak: " if is_peak else ""
        text = f"{peak}{plain_bytes(self._known.total.at(self._at))} at step {self._at}{self._line_text(self._at)}"
        is_left = x < LEFT + WIDE / 2
        yield _text(x if is_left else LEFT + WIDE, self._top - 6, text, anchor="start" if is_left else "end")

    def _legend(self) -> Iterator[tuple[int, int, str, str]]:
        """Yield the places, the color and the meaning of each kind of memory."""
        yield 12, 54, ALONE, ONLY_GRAPH
        yield LEFT, 54, HELD, VARIABLE_TOO
        if self._is_unsure:
            yield 12, 74, MAYBE, UNSURE

    def _line_text(self, step: int) -> str:
        found = source_line(self._trace, step)
        return "" if found is None else f", line {found.line}: {shortened(source_text(self._trace, found), 48)}"

    def _scale(self) -> Iterator[str]:
        """Yield the largest number of bytes, and the numbers of the lines that take the most steps."""
        yield _text(LEFT - 8, self._top + 10, plain_bytes(self._most), GRAY, "end")
        yield _text(LEFT - 8, self._top + HIGH, "0", GRAY, "end")
        yield _text(LEFT - 14, self._top + HIGH + 17, "line", GRAY, "end")
        yield from (_text(x, self._top + HIGH + 17, str(line), GRAY, "middle") for x, line in self._ticks())
        yield _text(12, self._rows - 12, f"Kept at step {self._at}:")

    def _labels(self) -> Iterator[str]:
        for place, bar in enumerate(self._bars):
            yield _text(LEFT - 8, self._rows + ROW * place + 15, bar.label, anchor="end")

    def _ticks(self) -> list[tuple[float, int]]:
        """Return the places of line numbers. Those of lines with many steps come first, and none overlap."""
        steps = self._trace.steps_of(ev.SourceLine)
        inside = steps[bisect_left(steps, self._first) : bisect_right(steps, self._last)]
        ends = [*inside[1:], self._last]
        spans = sorted(zip(inside, ends, strict=False), key=lambda span: span[0] - span[1])[: 4 * WIDE // LINE_LABEL]
        taken = list[float]()
        found = list[tuple[float, int]]()
        for begin, _ in spans:
            x, line = self._x(begin), moment(self._trace, begin).line
            if line and all(abs(x - other) >= LINE_LABEL for other in taken):
                taken.append(x)
                found.append((x, line))
        return found

    # -- shapes -------------------------------------------------------------------------------------------------------

    def _curves(self) -> Iterator[str]:
        yield from (_rect(x, y, 12, 12, color) for x, y, color, _ in self._legend())
        if self._is_unsure:
            yield self._area(self._upper, MAYBE, EDGE)
        yield self._area(self._known.total, HELD, EDGE)
        yield self._area(self._known.unnamed(self._trace), ALONE, "none")
        base = self._top + HIGH
        yield f'<path d="M{LEFT} {base}H{LEFT + WIDE}" stroke="{EDGE}" fill="none"/>'
        yield from (f'<path d="M{x:.1f} {base}v5" stroke="{EDGE}" fill="none"/>' for x, _ in self._ticks())

    def _bar_shapes(self, bottom: int) -> Iterator[str]:
        for place, bar in enumerate(self._bars):
            top = self._rows + ROW * place
            yield from (self._rect_of(part, top, HELD) for part in self._seen(bar.kept))
            yield from (self._rect_of(part, top, ALONE) for part in self._seen(bar.alone))
        x, y = self._x(self._at), self._y(self._known.total.at(self._at))
        yield f'<path d="M{x:.1f} {y:.1f}V{bottom}" stroke="{EDGE}" stroke-dasharray="3 3" fill="none"/>'
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{EDGE}"/>'

    def _bar(self, kept: KeptStorage) -> _Bar:
        parts = self._known.kept[kept.storage]
        named = united((span.begin, span.end) for span in self._known.spans(self._trace, kept.storage))
        own = "" if kept.copy_of and not kept.name.isidentifier() else kept.name
        name = ", ".join(filter(None, (own, f"copy of {kept.copy_of}" if kept.copy_of else "")))
        facts = f"{shaped(kept.shape)} {plain_dtype(kept.dtype)}  {plain_bytes(kept.size)}"
        return _Bar(f"{shortened(name, max(LONGEST - len(facts), 12))} {facts}", parts, without(parts, named))

    def _seen(self, parts: Iterable[Part]) -> list[Part]:
        """Return the steps of parts in the range. Gaps that are narrower than a pixel are closed."""
        gap = (self._last - self._first) // WIDE
        near = united((begin, end + gap) for begin, end in parts if end > self._first and begin <= self._last)
        return [(max(begin, self._first), min(end - gap, self._last + 1)) for begin, end in near]

    def _rect_of(self, part: Part, y: int, color: str) -> str:
        begin, end = self._x(part[0]), self._x(part[1])
        return _rect(begin, y + 3, max(end - begin, 1), ROW - 6, color)

    def _area(self, curve: Curve, color: str, edge: str) -> str:
        """Return the area below a curve."""
        steps = "".join(f"H{x:.1f}V{self._y(size):.1f}" for x, size in self._corners(curve))
        base = self._top + HIGH
        return f'<path d="M{LEFT} {base}{steps}H{LEFT + WIDE}V{base}Z" fill="{color}" stroke="{edge}"/>'

    def _corners(self, curve: Curve) -> Iterator[tuple[float, int]]:
        """Yield the x from which on a curve has a number of bytes. A long curve has one corner for each pixel."""
        steps = curve.steps[bisect_right(curve.steps, self._first) : bisect_right(curve.steps, self._last)]
        if len(steps) <= WIDE:
            yield from ((self._x(step), curve.at(step)) for step in (self._first, *steps))
            return
        count = self._last + 1 - self._first
        edges = dict.fromkeys(self._first + place * count // WIDE for place in range(WIDE + 1))
        yield from ((self._x(begin), curve.most(begin, end)) for begin, end in pairwise(edges))

    def _x(self, step: int) -> float:
        return LEFT + WIDE * (step - self._first) / (self._last + 1 - self._first)

    def _y(self, size: int) -> float:
        return self._top + HIGH * (1 - size / self._most)


ONLY_GRAPH = "only the graph keeps it, as far as the trace shows"
VARIABLE_TOO = "a variable of the program holds it too"
UNSURE = "may be kept too: the recording does not show whether the graph still exists"


def _grouped(parts: Iterable[str]) -> Iterator[str]:
    yield "<g>"
    yield from parts
    yield "</g>"


def _rect(x: float, y: float, width: float, height: float, color: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} fill="{color}" stroke="{EDGE}" stroke-width="0.5"/>'


def _text(x: float, y: float, text: str, color: str = "#000000", anchor: str = "start", size: int = 12) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}" font-size="{size}"'
    return f'<text {place} xml:space="preserve">{escape(shown(text))}</text>'
