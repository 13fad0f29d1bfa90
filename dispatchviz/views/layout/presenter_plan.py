"""The screen in presenter mode: the sentence alone at the top, with two widely spaced panes below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePath

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.views.layout.pane_layout import STACKED_BELOW, STEPS, Box
from dispatchviz.views.screen_bars import engine_spans
from dispatchviz.views.text.line_fitting import fit, path_end
from dispatchviz.views.text.styled_line import Line, line

MARGIN, GAP = 3, 5
"""The cells on both sides, and between two panes."""

LONGEST = 100
"""The maximum width of a row of the sentence. Longer rows are hard to read from the back of a room."""

TALL = 36
"""The height from which on an answer has an empty row above and below it in its band."""

STEPS_PART = 3 / 5
"""The share of the width for the steps if there are two columns."""


def text_width(width: int) -> int:
    """The width of the sentence, in cells."""
    return min(width - 2 * MARGIN, LONGEST)


def second_pane(order: Sequence[int], says_nothing: Callable[[int], bool]) -> int:
    """The pane beside the steps: the first one that is not empty."""
    return next((pane for pane in order if not says_nothing(pane)), order[0])


def presenter_header(trace: Trace, position: str, width: int) -> Line:
    """The header: the program, its device or PyTorch, and the step."""
    engine = engine_spans(trace)
    end = line(*engine, "  " if engine else "", f" {position}")
    name = path_end(PurePath(trace.header.program).name, max(width - 2 * MARGIN - end.width - 3, 8))
    return fit(line(" " * MARGIN, (name, "bold"), "   ", *end.spans), width)


def presenter_boxes(width: int, height: int, header: int, sentence: int, panes: Sequence[int]) -> dict[int, Box]:
    """The boxes of one or two panes, below the header and the sentence with an empty row around each."""
    top = header + sentence + 2
    body = Box(MARGIN, top, width - 2 * MARGIN, max(height - top - 1, 0))
    if len(panes) == 1:
        return {panes[0]: body}
    if width < STACKED_BELOW:
        first = (body.height - 1) // 2
        below = Box(body.x, body.y + first + 1, body.width, body.height - first - 1)
        return {STEPS: body._replace(height=first), panes[1]: below}
    left = int((body.width - GAP) * STEPS_PART)
    right = Box(body.x + left + GAP, body.y, body.width - left - GAP, body.height)
    return {STEPS: body._replace(width=left), panes[1]: right}


def sentence_box(width: int, header: int, rows: int) -> Box:
    """The box of the sentence."""
    return Box(MARGIN, header + 1, text_width(width), rows)
