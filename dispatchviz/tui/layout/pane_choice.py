"""The reader's choice of panes: one that stays on the screen, one that has it all."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dispatchviz.tui.keymap import key_of
from dispatchviz.tui.layout.pane_layout import PANES, STEPS, slots
from dispatchviz.tui.text.styled_line import Line, line


@dataclass(frozen=True)
class PaneChoice:
    """Numbers of panes; None where the reader has chosen none."""

    pinned: int | None = None
    """Stays on the screen whatever the step needs."""
    zoomed: int | None = None
    """Has the screen alone."""

    def select(self, number: int) -> PaneChoice:
        """With a pane pinned; the step list is always there, so choosing it pins none."""
        return PaneChoice(None if number == STEPS else number, number if self.zoomed else None)

    def zoom(self, number: int | None) -> PaneChoice:
        """With a pane alone on the screen, or with all again."""
        return replace(self, zoomed=number)


NO_CHOICE = PaneChoice()


def pin_note(before: PaneChoice, now: PaneChoice, width: int, height: int) -> Line | None:
    """What a choice means, where not all panes have room."""
    if slots(width, height) == len(PANES) - 1 or now.pinned == before.pinned:
        return None
    free = key_of(f"pane({STEPS})").first
    stays = f" This pane stays; {free} lets the panes follow the step again"
    return line((stays if now.pinned else " Panes follow the step", "hint"))


def zoom_note() -> Line:
    """How to come back."""
    return line((f" {key_of('zoom').first} or {key_of('zoom(False)').first}: all panes again", "hint"))
