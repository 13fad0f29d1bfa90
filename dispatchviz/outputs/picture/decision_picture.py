"""The dispatch of one call as a picture: from the arguments' key sets down to the kernel."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.cell_card import CellCard, cell_card
from dispatchviz.explain.calls.key_set_card import KeySetCard, key_set_card
from dispatchviz.explain.calls.key_set_lanes import ARGUMENTS, EXCLUDED, INCLUDED, MASK, UNITED, WINNER, Lane, lanes
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around
from dispatchviz.outputs.picture.dot import Pen
from dispatchviz.outputs.picture.drawn_picture import DrawnPicture
from dispatchviz.outputs.picture.svg import RenderError

WIDEST = 64
"""The number of characters at which sentences are wrapped."""

TITLES = {
    ARGUMENTS: "argument {}",
    UNITED: "{}: the keys of all arguments",
    INCLUDED: "thread-local include set",
    EXCLUDED: "thread-local exclude set",
    MASK: "the operator's mask: keys whose kernel falls through",
    WINNER: "remaining key set, the highest key first",
}
"""The titles of the lanes of a call."""

FILLS = {"": "#D3E7F5", "=": "#D3E7F5", "+": "#DFF0D8", "−": "#F3DDEB"}
"""The colors for what happens to the keys."""


def decision_picture(trace: Trace, at: int) -> DrawnPicture:
    """Return the picture of the dispatch at or around a step. Raise RenderError if there is none."""
    call = at_or_around(trace, at, ev.Dispatched) if 0 <= at < len(trace) else None
    card, cell = (key_set_card(trace, at), cell_card(trace, at)) if call else (None, None)
    if call is None or card is None:
        raise RenderError(f"nothing to draw: step {at} is in no call of an operator")
    pen = Pen()
    last = _lanes(pen, card)
    if cell:
        _cell(pen, cell, last)
    _reasons(pen, card)
    title = [
        f"Step {call.seq}: {card.how} {card.operator}",
        "From the key sets of the arguments to the kernel that runs",
    ]
    return DrawnPicture(pen.drawing(title, "decision", nodesep="0.25", ranksep="0.3"))


def _lanes(pen: Pen, card: KeySetCard) -> str:
    """Draw a box for each set, with the arguments' sets beside each other. Return the name of the last box."""
    before: list[str] = []
    for number, lane in enumerate(lanes(card)):
        name = f"lane{number}"
        pen.box(
            name, f"{{{_lane_label(pen, card, lane)}}}", style="filled", fillcolor=FILLS[lane.sign], color="#005B8F"
        )
        if lane.stage != ARGUMENTS:
            for tail in before:
                pen.edge(tail, name)
            before = []
        before.append(name)
    return before[-1]


def _lane_label(pen: Pen, card: KeySetCard, lane: Lane) -> str:
    is_call = any(row.title == "united" for row in card.rows)
    title = TITLES[lane.stage].format(lane.title) if is_call else lane.title
    signed = f"{lane.sign} {title}".lstrip()
    keys = [f"{key}  ← wins" if lane.stage == WINNER and key == card.winner else key for key in lane.keys]
    said = [lane.note] if lane.note and (lane.stage == ARGUMENTS or not lane.keys) else []
    rows = [pen.text(signed), pen.lines([*keys, *said] or ["none"])]
    return "|".join(rows)


def _cell(pen: Pen, cell: CellCard, before: str) -> None:
    """Draw the cell with the candidates for it, and the kernel in it."""
    taken = [
        f"{'→ ' if each.taken else ''}{each.source}: {each.kernel if each.taken else each.outcome}"
        for each in cell.candidates
        if each.reached
    ]
    title = pen.text(f"cell {cell.index} of {cell.operator}: {cell.key}")
    label = f"{{{title}|{pen.lines([*taken] or ['empty'])}}}"
    pen.box("cell", label, style="filled", fillcolor="#FDF6C9", color="#6E6200")
    pen.edge(before, "cell")
    facts = [*_wrapped(cell.why), *([cell.registered] if cell.registered else [])]
    label = f"{{{pen.text(cell.kernel or 'no kernel')}|{pen.lines(facts)}}}"
    pen.box("kernel", label, style="filled", fillcolor="#F9C4A0", color="#B34700", penwidth="2")
    pen.edge("cell", "kernel")


def _reasons(pen: Pen, card: KeySetCard) -> None:
    """Draw the reason why each key is in the set or not, in a box of its own."""
    lines = [line for name, why in card.reasons for line in _reason(name, why)]
    if lines:
        label = f"{{{pen.text('why each key is in the set or not')}|{pen.lines(lines)}}}"
        pen.box("reasons", label, style="filled", fillcolor="#FAFAF5", color="#8A8A6A")


def _reason(name: str, why: str) -> Iterator[str]:
    yield from _wrapped(f"{name}: {why}")


def _wrapped(text: str) -> Iterable[str]:
    return textwrap.wrap(text, WIDEST, break_on_hyphens=False)
