"""The reader's choice of panes: those that stay on the screen, one that has it all, those kept for a kind of step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dispatchviz.core.record.events import AnyEvent
from dispatchviz.explain.kinds.all_kinds import group
from dispatchviz.foundation.reader_rights import permits
from dispatchviz.views.keymap import key_of
from dispatchviz.views.layout.pane_layout import STEPS
from dispatchviz.views.text.styled_line import Line, line

Kept = Mapping[str, tuple[int, ...]]
"""Group of steps to the numbers of the panes that the reader wants at them, best first."""


@dataclass(frozen=True)
class PaneChoice:
    """Numbers of panes; none where the reader has chosen none."""

    pinned: tuple[int, ...] = ()
    """Stay on the screen whatever the step needs; the one chosen last comes first."""
    zoomed: int | None = None
    """Has the screen alone."""
    presenting: bool = False
    """For an audience: two panes with large gaps."""
    kept: Kept = field(default_factory=dict)
    """What the reader has kept, by group of steps."""

    def select(self, number: int) -> PaneChoice:
        """With a pane pinned; the step list is always there, so choosing it unpins all."""
        others = tuple(pane for pane in self.pinned if pane != number)
        return replace(
            self, pinned=() if number == STEPS else (number, *others), zoomed=number if self.zoomed else None
        )

    def zoom(self, number: int | None) -> PaneChoice:
        """With a pane alone on the screen, or with all again."""
        return replace(self, zoomed=number)

    def present(self, presenting: bool) -> PaneChoice:
        """For an audience, or for one reader again."""
        return replace(self, presenting=presenting, zoomed=None)

    def own(self, event: AnyEvent) -> tuple[int, ...]:
        """The panes that the reader wants at a step, best first."""
        return tuple(dict.fromkeys((*self.pinned, *self.kept.get(group(event), ()))))

    def keep(self, event: AnyEvent) -> PaneChoice:
        """With the pinned panes kept for steps of this group; without any, the group's panes are forgotten."""
        kept = {name: panes for name, panes in self.kept.items() if name != group(event)}
        return replace(self, kept=kept | ({group(event): self.pinned} if self.pinned else {}))


NO_CHOICE = PaneChoice()


def pin_note(before: PaneChoice, now: PaneChoice) -> Line | None:
    """What a choice means."""
    if now.pinned == before.pinned:
        return None
    free = key_of(f"pane({STEPS})").first
    keep = f"; {key_of('keep_panes').first} keeps it for steps of this kind" if permits("keep_panes") else ""
    stays = f" This pane stays open. {free} lets the panes follow the step again{keep}"
    return line((stays if now.pinned else " The panes follow the step again", "hint"))


def keep_note(event: AnyEvent, now: PaneChoice, problem: str) -> Line:
    """What is kept from now on, or why it is not."""
    name = group(event)
    if problem:
        return line((f" Kept until you quit, but not saved: {problem}", "warning"))
    if name in now.kept:
        return line((f" These panes now come first at steps of the kind {name}. The choice is saved", "hint"))
    return line((f" Panes are chosen automatically at steps of the kind {name}", "hint"))


def present_note(presenting: bool) -> Line:
    """What presenting means, and how to come back."""
    if not presenting:
        return line((" Presenter mode ended", "hint"))
    step, end = (f"{key_of(action).first}" for action in ("app.page(1)", "present"))
    return line((f" Presenter mode: {step} and {key_of('app.page(-1)').first} step, {end} or Esc ends it", "hint"))


def zoom_note() -> Line:
    """How to come back."""
    return line((f" {key_of('zoom').first} or {key_of('zoom(False)').first} shows all panes again", "hint"))
