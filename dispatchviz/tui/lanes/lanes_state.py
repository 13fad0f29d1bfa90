"""The state of the screen with lanes: its keys, the cursor's row, the chosen lane and a note.

Elsewhere: the text of rows (``lanes_rows.py``), Textual.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from dispatchviz.explain.comparison.ranks.lanes import LaneRow, Lanes
from dispatchviz.explain.comparison.ranks.member import Member
from dispatchviz.views.keymap import Key
from dispatchviz.views.text.styled_line import Line, line


class LanesState(Struct, frozen=True):
    """The state of the screen."""

    lanes: Lanes
    at: int = 0
    lane: int = 0
    """The process that Enter opens."""
    note: Line | None = None
    """A note, shown until the next key."""

    @property
    def rows(self) -> tuple[LaneRow, ...]:
        """The rows of all processes."""
        return self.lanes.rows

    @property
    def row(self) -> LaneRow | None:
        """The cursor's row; None if there are no rows."""
        return self.rows[self.at] if self.rows else None

    @property
    def member(self) -> Member:
        """The chosen process."""
        return self.lanes.members[self.lane]

    @property
    def step(self) -> int | None:
        """The step that Enter opens: that of the chosen lane in the cursor's row, or else its last one before."""
        rows = self.rows[self.at :: -1]
        return next((row.steps[self.lane] for row in rows if row.steps[self.lane] is not None), None)

    def noted(self, text: str) -> LanesState:
        """Set a note."""
        return replace(self, note=line((f" {text}", "hint"), indent=1))

    def goto(self, at: int) -> LanesState:
        """Move the cursor to a row, or to the nearest one that exists."""
        return replace(self, at=max(0, min(at, len(self.rows) - 1)), note=None)

    def move(self, by: int) -> LanesState:
        """Move the cursor by some rows."""
        return self.goto(self.at + by)

    def beside(self, by: int) -> LanesState:
        """Choose another lane."""
        return replace(self, lane=(self.lane + by) % len(self.lanes.members), note=None)

    def to_meeting(self, direction: int) -> LanesState:
        """Go to the next or the previous collective."""
        rows = self.rows
        ats = range(self.at + 1, len(rows)) if direction > 0 else range(self.at - 1, -1, -1)
        found = next((at for at in ats if rows[at].meeting is not None), None)
        if found is None:
            return self.noted(f"No collective {'after' if direction > 0 else 'before'} this row")
        return self.goto(found)


LANES_KEYMAP = (
    Key("meeting(1)", ("c",), "Collectives", "the next collective", "next collective"),
    Key("meeting(-1)", ("C",), "Collectives", "the previous collective"),
    Key("move(1)", ("down", "n"), "Rows", "the row below"),
    Key("move(-1)", ("up", "N"), "Rows", "the row above"),
    Key("page(1)", ("pagedown",), "Rows", "a page down"),
    Key("page(-1)", ("pageup",), "Rows", "a page up"),
    Key("goto(0)", ("g", "home"), "Rows", "the first row"),
    Key("goto(1000000000)", ("G", "end"), "Rows", "the last row"),
    Key("beside(1)", ("right", "tab"), "Lanes", "the next process", "other process"),
    Key("beside(-1)", ("left",), "Lanes", "the previous process"),
    Key("open", ("enter", "s"), "Lanes", "open the chosen process in the stepper at this row; q comes back", "step"),
    Key("help", ("question_mark", "f1"), "Help", "this help", "help"),
    Key("app.command_palette", ("ctrl+p",), "Help", "search all actions by name"),
    Key("app.suspend_process", ("ctrl+z",), "Help", "suspend; fg in the shell resumes"),
    Key("app.quit", ("q",), "Help", "close the lanes", "quit"),
)

LANES_GROUPS = tuple(dict.fromkeys(key.group for key in LANES_KEYMAP))
