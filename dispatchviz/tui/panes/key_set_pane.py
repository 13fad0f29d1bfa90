"""The key-set card: who wins, the sets as lanes, why each key is in the set or not, a table of all keys."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.key_set_card import KeySetCard, Row, key_set_card
from dispatchviz.explain.calls.key_set_lanes import EXCLUDED, MASK, WINNER, Lane, lanes
from dispatchviz.tui.panes.key_set_table import table
from dispatchviz.tui.panes.next_event import not_yet
from dispatchviz.tui.text.styled_line import Line, Span, line

LONGEST_TITLE = 16
"""Cells for the name of a lane."""


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The card, or at which step there will be one."""
    return rows_at(trace, at, width, stage_of(trace[at]))


def rows_at(trace: Trace, at: int, width: int, stage: int | None) -> list[Line]:
    """The card at one of its sub-steps, whose lanes are lit (``key_set_lanes.STAGES``); None: at none of them."""
    card = key_set_card(trace, at)
    if card is None:
        return [not_yet(trace, at, ev.Dispatched, "No key set here: this step is in no dispatch")]
    reasons = sorted(card.reasons, key=lambda reason: reason[0] != card.winner)
    return [
        _winner(card),
        *_lanes(lanes(card), stage),
        *(_reason(name, text, name == card.winner) for name, text in reasons),
        line(),
        *table(card, width),
    ]


def stage_of(event: ev.AnyEvent) -> int | None:
    """The sub-step that a step of the trace is about."""
    if isinstance(event, ev.FallthroughSkipped):
        return MASK
    return WINNER if isinstance(event, ev.KernelSelected) else None


def raw_rows(trace: Trace, at: int) -> list[Line]:
    """The same sets as numbers, for those who compare them with PyTorch's own output."""
    card = key_set_card(trace, at)
    return [] if card is None else [line(("Raw key sets:", "dim")), *map(_raw, card.rows[:-1])]


def _winner(card: KeySetCard) -> Line:
    return line(
        (card.winner, "winner"),
        (" wins", "winner"),
        (f"  {card.how} of ", "dim"),
        card.operator,
        key="winner",
        value=card.winner,
        here=True,
        cut=True,
    )


def _lanes(found: tuple[Lane, ...], stage: int | None) -> list[Line]:
    width = min(max((len(lane.title) for lane in found), default=0), LONGEST_TITLE)
    shared = [_shared(lane) for lane in found if lane.names]
    return [*(_lane(lane, width, lane.stage == stage) for lane in found), *shared]


def _lane(lane: Lane, width: int, lit: bool) -> Line:
    mark: Span = ("▶" if lit else " ", "focus")
    takes = lane.stage in (EXCLUDED, MASK)
    keys = ", ".join(lane.keys)
    role = "removed" if takes else "lit" if lit else "key"
    end: Span = (f" {lane.said}" if lane.said else "", "winner" if lane.said.startswith("→") else "dim")
    title: Span = (f"{lane.sign or ' '} {lane.title:<{width}}  ", "bold" if lit else "dim")
    return line(mark, title, ("{", "dim"), (keys, role), ("}", "dim"), end, key=f"lane {lane.title}", indent=width + 5,
                shaded=lit)  # fmt: skip


def _shared(lane: Lane) -> Line:
    """Which arguments have a set in common: of many the first and the last."""
    listed = f"{lane.names[0]} to {lane.names[-1]}"
    return line((f"{lane.title}: ", "dim"), listed, key=f"shared {lane.names[0]}", indent=2)


def _reason(name: str, text: str, wins: bool) -> Line:
    return line((f"{name}: ", "winner" if wins else "key"), (text, ""), indent=2)


def _raw(row: Row) -> Line:
    return line((f"  {row.title}  ", "dim"), (f"{row.raw:#x}", ""), key=f"raw {row.title}", value=f"{row.raw:#x}")
