"""Then and now as data: every statement and reason once, and their order at each step.

The order is that of the stepper at the last step before that is listed without detail. Steps within a call share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.outline.levels import DEFAULT
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.outputs.page.interned_lines import Lines
from dispatchviz.outputs.page.tracks import Track
from dispatchviz.views.details.then_and_now_rows import TEXTS, THEN_AND_NOW, WHY, Block, block_rows, blocks_at

MOST_PLACED = 200
"""The number of steps that have an order of their own."""


def then_data(trace: Trace, lines: Lines) -> dict[str, object]:
    """Return the rows of each entry, the steps that show it, and the title and contents of each list."""
    rows = block_rows()
    numbers = {ident: number for number, ident in enumerate(rows, 1)}
    tracks, places = (Track(), Track()), [Track() for _ in ("", *rows)]
    for step in _placed_steps(trace):
        for track, blocks in zip(tracks, blocks_at(trace, step), strict=True):
            track.show(step, tuple(_list(blocks, numbers, lines)))
            for block in blocks:
                places[numbers[block.ident]].show(step, () if block.step is None else (block.step,))
    return {
        "titles": [THEN_AND_NOW, WHY],
        "entries": [[], *(list(lines.numbers(each)) for each in rows.values())],
        "lists": [track.data() for track in tracks],
        "places": [place.data() for place in places],
        "from": TEXTS,
    }


def _placed_steps(trace: Trace) -> Sequence[int]:
    steps = [*Outline(trace, DEFAULT).steps]
    return sorted({0, *(steps if len(steps) <= MOST_PLACED else Outline(trace, 0).steps[:MOST_PLACED])})


def _list(blocks: Sequence[Block], numbers: dict[str, int], lines: Lines) -> Iterator[int]:
    """Yield the numbers of entries, and headings as the negative numbers of their texts."""
    heading = ""
    for block in blocks:
        if block.heading != heading:
            heading = block.heading
            yield -lines.text(heading)
        yield numbers[block.ident]
