"""The key-set card: the selected key, the sets as lanes, the reason why each key is in the set or not, and a table of
all keys.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec.structs import replace

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.explain.calls.key_set_card import KeySetCard, Row, key_set_card
from dispatchviz.explain.calls.key_set_lanes import ARGUMENTS, EXCLUDED, MASK, WINNER, Lane, card_at, lanes
from dispatchviz.explain.calls.key_set_stages import stage_name, stage_place
from dispatchviz.explain.keys.own_numbers import own_hex
from dispatchviz.explain.things.thing import TensorThing
from dispatchviz.views.panes.empty_titles import not_yet
from dispatchviz.views.panes.key_set_table import table
from dispatchviz.views.text.styled_line import Line, Span, line

LONGEST_TITLE = 16
"""The width of a lane's name, in cells."""


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The rows of the card, or the step at which there is one."""
    card = key_set_card(trace, at)
    if card is None:
        return [not_yet(trace, at, ev.Dispatched, "No key set here: this step is outside any dispatch")]
    return [_winner(card), *_lanes(lanes(card), stage_of(trace[at])), *_reasons_and_table(card, width)]


def rows_at(trace: Trace, at: int, width: int, stage: int) -> list[Line]:
    """The card at one of its sub-steps (``key_set_lanes.STAGES``). Its lanes are highlighted, the first one is in view,
    and the card begins with the set so far.
    """
    card = key_set_card(trace, at)
    if card is None:
        return rows(trace, at, width)
    shown = _lanes(lanes(card), stage)
    lit = next((row for row in shown if row.shaded), None)
    return [
        replace(_winner(card) if stage == WINNER else _so_far(card, stage), here=False),
        *(replace(row, here=row is lit) for row in shown),
        *(replace(row, here=False) for row in _reasons_and_table(card, width)),
    ]


@lru_cache(maxsize=4)
def _reasons_and_table(card: KeySetCard, width: int) -> list[Line]:
    """The rows that are the same at all sub-steps."""
    reasons = sorted(card.reasons, key=lambda reason: reason[0] != card.winner)
    return [
        *(_reason(name, text, name == card.winner) for name, text in reasons),
        line(),
        *table(card, width),
    ]


def title_at(trace: Trace, at: int, stage: int) -> str:
    """The addition to the pane's title: ``stage 3/6: included``."""
    card = key_set_card(trace, at)
    return "" if card is None else f"stage {stage_place(card, stage)}: {stage_name(card, stage)}"


def stage_of(event: ev.AnyEvent) -> int | None:
    """The sub-step for a kind of event; None for other events."""
    if isinstance(event, ev.FallthroughSkipped):
        return MASK
    return WINNER if isinstance(event, ev.KernelSelected) else None


def raw_rows(trace: Trace, at: int) -> list[Line]:
    """The sets as numbers, to compare them with PyTorch's own output."""
    card = key_set_card(trace, at)
    return (
        [] if card is None else [line(("Raw key sets:", "dim")), *(_raw(row, trace.header) for row in card.rows[:-1])]
    )


MOST_NAMED = 6
"""The maximum number of arguments that the first row names; of more arguments, it gives the number."""


def _winner(card: KeySetCard) -> Line:
    """The row with the selected key, the operator, and the tensors with their parameters."""
    titles = [row.title for row in card.rows[: card.arguments]]
    arguments = ", ".join(titles) if len(titles) <= MOST_NAMED else f"{len(titles)} tensors"
    return line(
        (card.winner, "winner"),
        (" wins", "winner"),
        (f"  {card.how} of ", "dim"),
        card.operator,
        (f"({arguments})" if arguments else "", "dim"),
        key="winner",
        value=card.winner,
        here=True,
        cut=True,
    )


def _so_far(card: KeySetCard, stage: int) -> Line:
    keys = "{" + ", ".join(card_at(card, stage).keys) + "}" if stage != ARGUMENTS else "not united yet"
    return line(("so far ", "dim"), (keys, "key"), key="winner", value=keys, indent=7)


def _lanes(found: tuple[Lane, ...], stage: int | None) -> list[Line]:
    width = min(max((len(lane.title) for lane in found), default=0), LONGEST_TITLE)
    shared = [_shared(lane) for lane in found if lane.names]
    return [*(_lane(lane, width, lane.stage == stage) for lane in found), *shared]


def _lane(lane: Lane, width: int, lit: bool) -> Line:
    mark: Span = ("▶" if lit else " ", "focus")
    takes = lane.stage in (EXCLUDED, MASK)
    keys = ", ".join(lane.keys)
    role = "removed" if takes else "lit" if lit else "key"
    end: Span = (f" {lane.note}" if lane.note else "", "winner" if lane.note.startswith("→") else "dim")
    title: Span = (f"{lane.sign or ' '} {lane.title:<{width}}  ", "bold" if lit else "dim")
    key = f"lane {lane.stage} {lane.title}"
    about = TensorThing(lane.tensors[0]) if lane.tensors else None
    return line(mark, title, ("{", "dim"), (keys, role), ("}", "dim"), end, key=key, indent=width + 5, shaded=lit,
                about=about)  # fmt: skip


def _shared(lane: Lane) -> Line:
    """The names of the arguments that share a set; of many arguments, the first and the last."""
    listed = f"{lane.names[0]} to {lane.names[-1]}"
    return line((f"{lane.title}: ", "dim"), listed, key=f"shared {lane.names[0]}", indent=2)


def _reason(name: str, text: str, wins: bool) -> Line:
    return line((f"{name}: ", "winner" if wins else "key"), (text, ""), indent=2)


def _raw(row: Row, header: Header) -> Line:
    number = own_hex(header, row.raw)
    return line((f"  {row.title}  ", "dim"), (number, ""), key=f"raw {row.title}", value=number)
