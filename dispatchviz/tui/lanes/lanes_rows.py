"""The screen with lanes as rows of text, for any width. It is independent of widgets."""

from __future__ import annotations

from rich.cells import cell_len

from dispatchviz.explain.comparison.ranks.meetings import Meeting
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.explain.kinds.collective import amount, collective_name
from dispatchviz.foundation.english import counted
from dispatchviz.tui.lanes.lanes_state import LANES_GROUPS, LANES_KEYMAP, LanesState
from dispatchviz.views import keymap
from dispatchviz.views.cards.lanes_text import NARROWEST, cell_text
from dispatchviz.views.text.line_fitting import fit, paragraphs, wrap
from dispatchviz.views.text.styled_line import Line, Span, line

TALL = 30
"""The height of a terminal from which on the sentences have more rows."""


def heights(height: int) -> tuple[int, int]:
    """The numbers of rows of the text above and below the list."""
    return (4, 5) if height >= TALL else (3, 3)


def header(state: LanesState) -> Line:
    """The top row: the number of processes and collectives."""
    members = state.lanes.members
    met = counted(state.lanes.collectives, "collective")
    program = members[0].trace.header.program
    return line((" dispatchviz", "bold"), f"  {program}  {counted(len(members), 'process', 'processes')}, {met}")


def why(state: LanesState, width: int, most: int) -> list[Line]:
    """The text above the rows: a note, and the collectives that cannot end."""
    rows = wrap(state.note, width - 1) if state.note else []
    found = [line((f" {said.text}", "warning"), indent=1) for said in state.lanes.mistakes]
    sound = [line((" Between two collectives, the rows of the processes are side by side.", "dim"), indent=1)]
    return paragraphs([*rows, *(found or sound)], width - 1, most)


def below(state: LanesState, width: int, most: int) -> list[Line]:
    """The text below the rows: the collective of the cursor's row, or the step of the chosen process."""
    row, step = state.row, state.step
    if row is None:
        return [line((" Nothing was recorded", "hint"))]
    if row.meeting is not None:
        texts = [f" {row.meeting.title(state.lanes.members)}.", f" {_partners(state, row.meeting)}"]
        return paragraphs([line(text, indent=1) for text in texts], width - 1, most)
    text = "" if step is None else why_here(state.member.trace, step)
    return paragraphs([line((f" {state.member.name}  ", "bold"), text, indent=1)], width - 1, most)


def _partners(state: LanesState, meeting: Meeting) -> str:
    """The call of each rank and its time."""
    members = state.lanes.members
    called = [
        ", ".join(filter(None, (f"{members[lane].name}: {collective_name(call)}", amount(call), meeting.when(lane))))
        for lane, call in meeting.calls.items()
    ]
    missing = [f"{member.name}: never" for member in members if member.rank in meeting.missing]
    return "; ".join([*called, *missing])


# -- rows -------------------------------------------------------------------------------------------------------------

GAP: Span = ("│ ", "rule")


def shown_lanes(state: LanesState, width: int) -> tuple[range, int]:
    """The lanes that fit on the screen, with the chosen one among them, and the width of each."""
    many = len(state.lanes.members)
    fitting = max(1, min(many, width // (NARROWEST + 2)))
    first = max(0, min(state.lane - fitting // 2, many - fitting))
    return range(first, first + fitting), (width - 1) // fitting - 2


def list_title(state: LanesState, width: int) -> str:
    """The names of the processes above their lanes."""
    shown, room = shown_lanes(state, width)
    names = [f"{state.lanes.members[lane].name}{' ◂ Enter' if lane == state.lane else ''}" for lane in shown]
    return "".join(f"{name:<{room + 2}}" for name in names).rstrip() + " "


def list_row(state: LanesState, at: int, width: int) -> Line:
    """A row of the list."""
    shown, room = shown_lanes(state, width)
    spans: list[Span] = [("▶" if at == state.at else " ", "focus")]
    for lane in shown:
        spans += _cell(state, at, lane, room)
        if lane != shown[-1]:
            spans.append(GAP)
    return Line(spans=tuple(spans), cut=True)


def _cell(state: LanesState, at: int, lane: int, room: int) -> list[Span]:
    """The spans of one process in a row, padded."""
    row = state.rows[at]
    short = fit(line((cell_text(state.lanes, row, lane), _role(state, at, lane))), room)
    text = "".join(text for text, _ in short.spans)
    return [*short.spans, (" " * (room - cell_len(text)), "")]


def _role(state: LanesState, at: int, lane: int) -> str:
    meeting = state.rows[at].meeting
    if meeting is None:
        return "bold" if lane == state.lane and at == state.at else ""
    if lane not in meeting.calls:
        return "error" if state.lanes.members[lane].rank in meeting.missing else "rule"
    return "warning" if not meeting.agrees else "hint" if lane == meeting.last else "key"


# -- keys -------------------------------------------------------------------------------------------------------------


def footer(width: int) -> Line:
    """The most important keys."""
    return keymap.footer(LANES_KEYMAP, width)


INTRODUCTION = """\
Each column is a process, and rows go down in time: the lines that the program reaches, and an error that ends it. A \
row with ● is a collective: all ranks of the group call it, and the first ones wait for the last. ✗ is a rank that \
never called it. Between two collectives, the rows of the processes are side by side, without an order in time.
"""


def help_rows() -> list[Line]:
    """The text of the help."""
    return [
        *map(line, INTRODUCTION.splitlines()),
        *(row for group in LANES_GROUPS for row in keymap.group_rows(LANES_KEYMAP, group)),
        line(),
        line(("Esc or q closes this help.", "dim")),
    ]
