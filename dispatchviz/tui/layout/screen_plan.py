"""The plan of a screen: the rows of its bars and the box of every widget, from what it shows and its size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dispatchviz.tui.bars.footer_bar import footer_row
from dispatchviz.tui.bars.header_bar import header_rows
from dispatchviz.tui.bars.why_bar import first_notes, needed_rows, why_rows
from dispatchviz.tui.cursor.cursor import Cursor
from dispatchviz.tui.layout.needed_panes import Shown, chosen, order
from dispatchviz.tui.layout.pane_choice import NO_CHOICE, PaneChoice
from dispatchviz.tui.layout.pane_layout import SMALLEST, Box, Frame, arrange, why_height
from dispatchviz.tui.panes.nothing_said import nothing
from dispatchviz.tui.text.line_fitting import wrap
from dispatchviz.tui.text.styled_line import Line, line


@dataclass(frozen=True)
class ScreenPlan:
    """What is on a screen of one size, and where."""

    bars: Mapping[str, Sequence[Line]]
    """``header``, ``why`` and ``footer``, those that are shown."""
    panes: Mapping[int, Box]
    """By number, those that are shown."""
    boxes: Mapping[str, Box]
    """Of all widgets by id, the bars and the ``prompt`` included."""


@dataclass(frozen=True)
class Scene:
    """What the screen shows, whatever its size."""

    cursor: Cursor
    opened_at: int
    """The step at which the stepper opened: there the bar explains the stepper as long as there is no note."""
    note: Line | None = None
    choice: PaneChoice = NO_CHOICE
    label: str = ""
    """Of the question on the bottom line, shown instead of the footer; empty without one."""
    _plans: dict[tuple[int, int], ScreenPlan] = field(init=False, default_factory=dict, repr=False, compare=False)

    def plan(self, width: int, height: int) -> ScreenPlan:
        """The plan for a size, made once."""
        if (width, height) not in self._plans:
            self._plans[width, height] = self._make(width, height)
        return self._plans[width, height]

    def _make(self, width: int, height: int) -> ScreenPlan:
        if width < SMALLEST[0] or height < SMALLEST[1]:
            return ScreenPlan({"header": too_small(width, height)}, {}, {"header": Box(0, 0, width, height)})
        cursor, header = self.cursor, header_rows(self.cursor, width)
        needed = needed_rows(cursor, self._notes(), width, opening=self._is_opening)
        frame = Frame(header=len(header), why=why_height(height, len(needed)))
        shown = self._chosen(width, height, frame)
        panes = arrange(width, height, shown.panes, frame, self.choice.zoomed, shown.shrunk)
        footer = line((self.label, "keycap")) if self.label else footer_row(width, bool(cursor.breakpoints))
        bars = {"header": header, "why": why_rows(cursor, needed, width, frame.why), "footer": [footer]}
        around = _boxes_around(width, height, frame, len(self.label))
        return ScreenPlan(bars, panes, {f"pane{number}": box for number, box in panes.items()} | around)

    def _chosen(self, width: int, height: int, frame: Frame) -> Shown:
        """The panes that the step needs and the reader wants, as far as there is room."""
        trace, at = self.cursor.trace, self.cursor.at
        own = self.choice.own(trace[at])
        wanted = order(trace[at], own)
        return chosen(wanted, width, height, frame, lambda pane: nothing(pane, trace, at) is not None, own)

    @property
    def _is_opening(self) -> bool:
        """Whether nothing has been done yet, or all of it was taken back."""
        return self.note is None and self.cursor.at == self.opened_at

    def _notes(self) -> list[Line]:
        if self._is_opening:
            return first_notes(self.cursor.trace, self.cursor.at)
        return [] if self.note is None else [self.note]


def _boxes_around(width: int, height: int, frame: Frame, label: int) -> dict[str, Box]:
    """The boxes of the bars; a label of so many cells leaves the rest of its row to the prompt."""
    bottom = height - frame.footer
    return {
        "header": Box(0, 0, width, frame.header),
        "why": Box(0, frame.header, width, frame.why),
        "footer": Box(0, bottom, label or width, frame.footer),
        "prompt": Box(label, bottom, width - label, frame.footer),
    }


def too_small(width: int, height: int) -> list[Line]:
    """What a terminal shows in which the stepper has no room."""
    text = f"The terminal is {width}x{height}, the stepper needs {SMALLEST[0]}x{SMALLEST[1]}"
    return wrap(line((text, "warning")), max(width, 1))
