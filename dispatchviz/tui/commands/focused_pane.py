"""Actions whose meaning depends on the pane that has the focus: they are functions of the session and the screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dispatchviz.tui.actions import Reply, ask_thing, go_to_row
from dispatchviz.tui.commands import moves
from dispatchviz.tui.screens.stepper_screen import StepperScreen
from dispatchviz.views.layout.pane_layout import STEPS
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import line


def page(session: Session, view: StepperScreen, direction: int) -> Reply | None:
    """A page of the pane; in the steps it moves the cursor, and for an audience by a step."""
    if view.scene.choice.presenting:
        step, stop = ("into", "resume") if direction > 0 else ("into_back", "resume_back")
        return moves.move(session, step if session.guide is None else stop)
    rows = view.scroll_page(direction)
    return moves.page(session, rows) if rows else None


def row(session: Session, view: StepperScreen, direction: int) -> Reply:
    """The next row: the one of the cursor in the steps, the chosen one in another pane."""
    if view.focused_pane == STEPS:
        return moves.move(session, "down" if direction > 0 else "up")
    moved = view.panes[view.focused_pane].choose(direction)
    return Update(session.cursor, None if moved else line((" No row on that side leads anywhere", "hint")))


def enter(session: Session, view: StepperScreen) -> Reply | None:
    """Unfolds the row of the steps; in another pane goes where the chosen row leads, else shows that pane alone."""
    if view.focused_pane == STEPS:
        return moves.move(session, "unfold")
    if view.chosen_row is not None:
        return go_to_row(session, view.chosen_row)
    view.action_zoom()
    return None


def ask(session: Session, view: StepperScreen) -> Reply:
    """Asks about what the chosen row of a pane names; without one about what the step does."""
    return ask_thing(session, view.chosen_row)


FOCUS_ACTIONS: Mapping[str, Callable[..., Reply | None]] = {
    "page": page,
    "row": row,
    "enter": enter,
    "ask_thing": ask,
}
"""By the name that follows ``app.`` in the keymap."""
