"""The lanes of several processes as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dispatchviz.explain.comparison.ranks.lanes import LaneRow, Lanes
from dispatchviz.explain.comparison.ranks.meetings import Meeting, meetings
from dispatchviz.explain.comparison.ranks.member import Member
from dispatchviz.explain.comparison.ranks.mismatches import mismatches
from dispatchviz.explain.kinds.all_kinds import label
from dispatchviz.explain.kinds.collective import collective_name
from dispatchviz.foundation.english import capital, listed, shortened
from dispatchviz.foundation.shown_text import shown
from dispatchviz.views.cards.diagnosis_text import labeled
from dispatchviz.views.text.console import Console

GAP = "  "
"""The space between two lanes."""

NARROWEST = 24
"""The smallest width of a lane."""


def lane_width(width: int, lanes: int) -> int:
    """Return the width of each lane on a screen."""
    return max(NARROWEST, (width - len(GAP) * (lanes - 1)) // max(lanes, 1))


def cell_text(lanes: Lanes, row: LaneRow, lane: int) -> str:
    """Return the text of one process in a row."""
    step, meeting = row.steps[lane], row.meeting
    if meeting is not None:
        return _of_meeting(lanes, meeting, lane)
    return "" if step is None else label(lanes.members[lane].trace, step)


def _of_meeting(lanes: Lanes, meeting: Meeting, lane: int) -> str:
    call = meeting.calls.get(lane)
    if call is not None:
        return f"● {collective_name(call)} {call.number}  {meeting.when(lane)}".rstrip()
    return "✗ never" if lanes.members[lane].rank in meeting.missing else "│"


def lanes_lines(lanes: Lanes, console: Console) -> Iterator[str]:
    """Yield the lanes as lines: the names of the processes, then a line for each row, and mistakes at the end."""
    width = lane_width(console.width, len(lanes.members))
    yield console.heading(_joined([member.name for member in lanes.members], width))
    for row in lanes.rows:
        if row.meeting is not None:
            title = shortened(f"── {row.meeting.title(lanes.members)}", console.width - 3)
            yield console.styled(f"{title} ".ljust(console.width, "─"), "cyan")
        yield _joined([cell_text(lanes, row, lane) for lane in range(len(lanes.members))], width)
    for said in lanes.mistakes:
        yield ""
        yield from console.wrapped(said.text, 0)


def why_lines(members: Sequence[Member], console: Console) -> Iterator[str]:
    """Yield the mistakes in the collectives of several processes, or a line that says that there is none."""
    found = tuple(mismatches(members))
    for said in found:
        yield from labeled("why", said.text, console)
    if not found:
        called = len(meetings(members))
        names = listed([member.name for member in members])
        agree = f"they agree in all collectives ({called})" if called else "they call no collectives"
        yield from console.wrapped(f"{capital(names)}: {agree}.", 0)


def _joined(cells: Sequence[str], width: int) -> str:
    return GAP.join(shortened(shown(cell), width).ljust(width) for cell in cells).rstrip()
