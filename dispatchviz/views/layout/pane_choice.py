"""The reader's choice of panes: those that stay on the screen, one that fills it, and those chosen for a kind of
step.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from dispatchviz.core.record.events import AnyEvent
from dispatchviz.explain.kinds.all_kinds import group
from dispatchviz.foundation.reader_rights import permits
from dispatchviz.views.keymap import key_of
from dispatchviz.views.layout.pane_layout import STEPS
from dispatchviz.views.text.styled_line import Line, line

Kept = Mapping[str, tuple[int, ...]]
"""The numbers of the panes for each group of steps, best first."""


class PaneChoice(Struct, frozen=True):
    """The chosen panes by number; nothing is chosen at the start."""

    pinned: tuple[int, ...] = ()
    """The panes that stay on the screen at every step, the latest choice first."""
    zoomed: int | None = None
    """The pane that fills the screen; None if there is none."""
    presenting: bool = False
    """True in presenter mode: two panes with wide spacing."""
    kept: Kept = field(default_factory=dict)
    """The panes chosen for steps of a group."""

    def select(self, number: int) -> PaneChoice:
        """Pin a pane. The step list is always visible, so choosing it unpins all panes."""
        others = tuple(pane for pane in self.pinned if pane != number)
        return replace(
            self, pinned=() if number == STEPS else (number, *others), zoomed=number if self.zoomed else None
        )

    def zoom(self, number: int | None) -> PaneChoice:
        """Show only one pane, or all panes again."""
        return replace(self, zoomed=number)

    def present(self, presenting: bool) -> PaneChoice:
        """Switch presenter mode on or off."""
        return replace(self, presenting=presenting, zoomed=None)

    def own(self, event: AnyEvent) -> tuple[int, ...]:
        """The reader's panes for a step, best first."""
        return tuple(dict.fromkeys((*self.pinned, *self.kept.get(group(event), ()))))

    def keep(self, event: AnyEvent) -> PaneChoice:
        """Store the pinned panes for steps of this group. Without pinned panes, delete the group's choice."""
        kept = {name: panes for name, panes in self.kept.items() if name != group(event)}
        return replace(self, kept=kept | ({group(event): self.pinned} if self.pinned else {}))


NO_CHOICE = PaneChoice()


def pin_note(before: PaneChoice, now: PaneChoice) -> Line | None:
    """The note that explains a choice; None if the choice is unchanged."""
    if now.pinned == before.pinned:
        return None
    free = key_of(f"pane({STEPS})").first
    keep = f"; {key_of('keep_panes').first} keeps it for steps of this kind" if permits("keep_panes") else ""
    stays = f" This pane stays open. {free} lets the panes follow the step again{keep}"
    return line((stays if now.pinned else " The panes follow the step again", "hint"))


def keep_note(event: AnyEvent, now: PaneChoice, problem: str) -> Line:
    """The note on whether the panes are now stored."""
    name = group(event)
    if problem:
        return line((f" This choice lasts until you quit, but is not saved: {problem}", "warning"))
    if name in now.kept:
        return line((f" These panes now come first at steps of the kind {name}. The choice is saved", "hint"))
    return line((f" Panes are chosen automatically at steps of the kind {name}", "hint"))


def present_note(presenting: bool) -> Line:
    """The note on presenter mode and how to end it."""
    if not presenting:
        return line((" Presenter mode ended", "hint"))
    step, end = (f"{key_of(action).first}" for action in ("app.page(1)", "present"))
    return line((f" Presenter mode: {step} and {key_of('app.page(-1)').first} step, {end} or Esc ends it", "hint"))


def zoom_note() -> Line:
    """The note on the keys that show all panes again."""
    return line((f" {key_of('zoom').first} or {key_of('zoom(False)').first} shows all panes again", "hint"))
