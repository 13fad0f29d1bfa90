"""Actions whose meaning depends on the pane that has the focus: they are functions of the session and the screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dispatchviz.tui.actions import Reply, ask_thing, go_to_row
from dispatchviz.tui.commands import moves
from dispatchviz.tui.commands.choosing_panes import zoom
from dispatchviz.tui.screens.stepper_screen import StepperScreen
from dispatchviz.views.layout.pane_layout import STEPS
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import line


def page(session: Session, view: StepperScreen, direction: int) -> Reply | None:
    """A page of the pane; in the steps it moves the cursor, and for an audience by a step."""
    if view.scene.choice.presenting:
        step, stop = ("into", "resume") if direction > 0 else ("into_back", "resume_back")
        return moves.move(session, step if session.guide is None else stop)
    pane = view.panes[view.focused_pane]
    if pane.number == STEPS:
        return moves.page(session, direction * pane.port.page)
    pane.scroll_rows(pane.port.top + direction * pane.port.page)
    return None


def row(session: Session, view: StepperScreen, direction: int) -> Reply:
    """The next row: the one of the cursor in the steps, the chosen one in another pane."""
    pane = view.focused_view
    if pane is None:
        return moves.move(session, "down" if direction > 0 else "up")
    return Update(
        session.cursor,
        None if pane.choose(direction) else line((" No more linked rows that way", "hint")),
    )


def enter(session: Session, view: StepperScreen) -> Reply | None:
    """Unfold the row of the steps; in another pane goes where the chosen row leads, else shows that pane alone."""
    if view.focused_view is None:
        return moves.move(session, "unfold")
    if view.chosen_row is not None:
        return go_to_row(session, view.chosen_row)
    zoom(view)
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
