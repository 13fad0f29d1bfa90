"""Actions that change the visible panes. They are functions of the screen, which need no session."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dispatchviz.tui.screens.stepper_screen import StepperScreen
from dispatchviz.views.layout.kept_layouts import write_layouts
from dispatchviz.views.layout.pane_choice import keep_note, pin_note, present_note, zoom_note
from dispatchviz.views.text.styled_line import line

SIDEWAYS = 16
"""The number of cells by which a key scrolls sideways."""


def pane(view: StepperScreen, number: int) -> None:
    """Focus a pane and keep it on the screen. Choosing the step list lets the other panes follow the step again."""
    before, choice = view.scene.choice, view.scene.choice.select(number)
    view.show(view.scene.cursor, pin_note(before, choice), choice)
    view.panes[number].focus(scroll_visible=False)


def keep_panes(view: StepperScreen) -> None:
    """Store the chosen panes for steps of this kind, also in the reader's file."""
    cursor = view.scene.cursor
    choice = view.scene.choice.keep(cursor.trace[cursor.at])
    problem = write_layouts(dict(choice.kept)) if choice != view.scene.choice else ""
    view.show(cursor, keep_note(cursor.trace[cursor.at], choice, problem), choice)


def sideways(view: StepperScreen, direction: int) -> None:
    """Scroll the pane with the focus to the right or to the left."""
    if not view.panes[view.focused_pane].scroll_sideways(direction * SIDEWAYS):
        view.show(view.scene.cursor, line((" No row is cut on that side", "hint")))


def present(view: StepperScreen, wanted: bool | None = None) -> None:
    """Switch presenter mode on or off."""
    wanted = not view.scene.choice.presenting if wanted is None else wanted
    view.show(view.scene.cursor, present_note(wanted), view.scene.choice.present(wanted))
    view.use_theme()


def zoom(view: StepperScreen, wanted: bool | None = None) -> None:
    """Zoom the focused pane to the whole screen, or show all panes again.

    If a row is chosen in it, leave the row first.
    """
    choice = view.scene.choice
    if wanted is False and view.focused_view is not None and view.focused_view.let_go():
        return
    if wanted is False and choice.presenting and not choice.zoomed:
        present(view, False)
        return
    wanted = not choice.zoomed if wanted is None else wanted
    choice = choice.zoom(view.focused_pane if wanted and view.has_focused_pane else None)
    view.show(view.scene.cursor, zoom_note() if choice.zoomed else None, choice)


PANE_ACTIONS: Mapping[str, Callable[..., None]] = {
    "pane": pane,
    "keep_panes": keep_panes,
    "sideways": sideways,
    "present": present,
    "zoom": zoom,
}
"""The actions by their names in the keymap. Arguments in the keymap follow the screen."""
