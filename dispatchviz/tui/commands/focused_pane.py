"""Actions that depend on the focused pane. They are functions of the session and the screen."""

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
    """Scroll the pane by a page. In the step list, move the cursor; in presenter mode, take a step."""
    if view.scene.choice.presenting:
        step, stop = ("into", "resume") if direction > 0 else ("into_back", "resume_back")
        return moves.move(session, step if session.guide is None else stop)
    pane = view.panes[view.focused_pane]
    if pane.number == STEPS:
        return moves.page(session, direction * pane.port.page)
    pane.scroll_rows(pane.port.top + direction * pane.port.page)
    return None


def row(session: Session, view: StepperScreen, direction: int) -> Reply:
    """Go to the next row: move the cursor in the step list, or the chosen row in another pane."""
    pane = view.focused_view
    if pane is None:
        return moves.move(session, "down" if direction > 0 else "up")
    return Update(
        session.cursor,
        None if pane.choose(direction) else line((" No more linked rows that way", "hint")),
    )


def enter(session: Session, view: StepperScreen) -> Reply | None:
    """Unfold a row of the step list. In another pane, follow the chosen row, or else zoom the pane."""
    if view.focused_view is None:
        return moves.move(session, "unfold")
    if view.chosen_row is not None:
        return go_to_row(session, view.chosen_row)
    zoom(view)
    return None


def ask(session: Session, view: StepperScreen) -> Reply:
    """Ask about the thing of the chosen row, or without one, about the things of the step."""
    return ask_thing(session, view.chosen_row)


FOCUS_ACTIONS: Mapping[str, Callable[..., Reply | None]] = {
    "page": page,
    "row": row,
    "enter": enter,
    "ask_thing": ask,
}
"""The actions by the names after ``app.`` in the keymap."""
