"""The actions of the comparison screen, as functions of its state that return a reply.

Elsewhere: actions that depend on the height of the list (``comparison_app.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from dispatchviz.tui.comparison import comparison_rows
from dispatchviz.tui.comparison.comparison_state import COMPARISON_KEYMAP, Compared
from dispatchviz.tui.comparison.two_runs import Side
from dispatchviz.tui.home.text_screen import Text


class Shown(Struct, frozen=True):
    """A new state of the screen."""

    state: Compared
    clipboard: str = ""
    """The text to copy."""


class Opened(Struct, frozen=True):
    """The request to close the screen and open one of the runs in the stepper."""

    side: Side
    step: int


Reply = Shown | Text | Opened


def open_step(state: Compared) -> Reply:
    """Open the stepper at the cursor's row, in the run of the chosen side."""
    step = state.row.pair.step(state.side) if state.row is not None else None
    if step is None:
        side = state.two.sides[state.side]
        return Shown(state.noted(f"This row is not {side.run.where}. {_key('side')} switches to the other side"))
    return Opened(state.two.sides[state.side], step)


def copy(state: Compared) -> Reply:
    """Copy the command that opens this comparison."""
    command = state.two.command
    if not command:
        return Shown(state.noted("No command opens this comparison again"))
    return Shown(state.noted(f"Copied: {command}"), command)


def how_to_quit(state: Compared) -> Compared:
    """Answer Ctrl+C with the key that goes back."""
    return state.noted(f"{_key('app.quit')} goes back")


def _key(action: str) -> str:
    return next(key.first for key in COMPARISON_KEYMAP if key.action == action)


COMPARISON_ACTIONS: Mapping[str, Callable[..., Reply]] = {
    "stop": lambda state, direction: Shown(state.to_stop(direction)),
    "move": lambda state, by: Shown(state.move(by)),
    "goto": lambda state, at: Shown(state.goto(at)),
    "unfold": lambda state: Shown(state.unfold()),
    "fold": lambda state: Shown(state.fold()),
    "detail": lambda state, by: Shown(state.detail(by)),
    "side": lambda state: Shown(state.other_side()),
    "choose": lambda state, which: Shown(state.choose(which)),
    "open": open_step,
    "whole": lambda state: Text("Where the runs differ", lambda width: comparison_rows.whole(state, width)),
    "copy": copy,
    "help": lambda state: Text("Help", lambda width: comparison_rows.help_rows()),
}
"""The actions by their names in the keymap. Arguments in the keymap follow the state."""
