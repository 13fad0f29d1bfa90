"""The list of breakpoints with their stops, to go to the next stop or to remove one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import ClassVar

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.tui.commands.stopping import counted, removed, visible_stops
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.choice_list import ChoiceList
from dispatchviz.views.cursor.breakpoints.breakpoint import Breakpoint
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.replies import NO_BREAKPOINTS
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import Line, line

TITLE = "Breakpoints (Enter: next stop, d: remove, Esc: close)"


class BreakpointsView(ChoiceList):
    """The rows of the breakpoints, one of them chosen."""

    BINDINGS: ClassVar = [
        Binding("B", "choose(1)", show=False),
        Binding("right,c", "go", show=False),
        Binding("left,C", "go_back", show=False),
        Binding("d,delete", "remove", show=False),
    ]

    def __init__(self, session: Session, palette: Palette) -> None:
        super().__init__(TITLE, palette)
        self.cursor = session.cursor
        """The cursor with the remaining breakpoints."""

    def rows(self, width: int) -> list[Line]:
        return [breakpoint_row(self.cursor, point) for point in self.cursor.breakpoints]

    def can_be_chosen(self, row: Line) -> bool:
        return True  # a breakpoint without stops can still be removed

    def go(self, row: Line) -> None:
        self._go(forward=True)

    def action_go_back(self) -> None:
        self._go(forward=False)

    def action_remove(self) -> None:
        self.cursor = removed(self.cursor, self.cursor.breakpoints[self._chosen])
        if self.cursor.breakpoints:
            self.begin_at(self._chosen)
        else:
            self.screen.dismiss(Update(self.cursor, line((NO_BREAKPOINTS, "hint"))))

    def _go(self, forward: bool) -> None:
        self.screen.dismiss(gone(self.cursor, self.cursor.breakpoints[self._chosen], forward))


def breakpoint_row(cursor: Cursor, point: Breakpoint) -> Line:
    """The row of a breakpoint: its number of stops, and how many are behind and ahead."""
    stops = visible_stops(cursor, point)
    behind, ahead = bisect_left(stops, cursor.at), len(stops) - bisect_right(stops, cursor.at)
    following = f" (step {stops[-ahead]})" if ahead else ""
    here_too = "" if behind + ahead == len(stops) else ", one here"
    where = f"{behind:,} behind{here_too}, {ahead:,} ahead{following}"
    return line((f"{point}  ", "bold"), (f"{counted(len(stops))}: ", ""), (where, "dim"))


def gone(cursor: Cursor, point: Breakpoint, forward: bool) -> Update:
    """Go to the next or the previous stop of a breakpoint, wrapping around at the end."""
    stops, trace = point.steps(cursor.trace), cursor.trace
    found = point.next(trace, cursor.at, forward)
    if not stops:
        return Update(cursor, line((f" {point} has no stops so far", "hint")))
    step = (stops[0] if forward else stops[-1]) if found is None else found
    round_end = "  wrapped around" if found is None and step != cursor.at else ""
    number = bisect_left(stops, step) + 1
    note = f" Stop {number:,} of {len(stops):,} at {point}"
    return Update(cursor.goto(step), line((note, "hint"), (round_end, "dim")))


class BreakpointsScreen(ModalScreen[Update | None]):
    """The screen with the list, which closes with an update of the cursor."""

    BINDINGS: ClassVar = [Binding("escape,q,backspace", "close", show=False)]
    DEFAULT_CSS = (
        "BreakpointsScreen { align: center middle; } BreakpointsView { width: 90%; height: 60%; padding: 0 1; }"
    )

    def __init__(self, session: Session, palette: Palette) -> None:
        super().__init__()
        self._session, self._view = session, BreakpointsView(session, palette)

    def compose(self) -> ComposeResult:
        yield self._view

    def action_close(self) -> None:
        now = replace(self._session.cursor, breakpoints=self._view.cursor.breakpoints)
        self.dismiss(Update(now) if now != self._session.cursor else None)
