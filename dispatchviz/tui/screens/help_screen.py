"""The help: the description of the focused pane, the signs, and all keys of the active keymap."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.explain.kinds.kind import SIGNS
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.text_view import TextView
from dispatchviz.views.keymap import GROUPS, QUITS, STEP, Leaving, entries, group_rows, in_force, key_of
from dispatchviz.views.pane_help import ABOUT, LEGEND
from dispatchviz.views.session import Update
from dispatchviz.views.text.styled_line import Line, line

SIGNS_IN_ROW = 4

KEYS_WIDTH = 14
"""The width of the key column, in cells."""


class HelpView(TextView):
    """The view of the help for a pane."""

    def __init__(self, pane: int, palette: Palette, leaving: Leaving) -> None:
        super().__init__("Help", palette)
        self._pane, self._leaving = pane, leaving

    def text(self) -> list[Line]:
        return help_rows(self._pane, self._leaving)


class HelpScreen(ModalScreen[Update | None]):
    """The screen with the help. The keys that open it and those that leave things close it."""

    BINDINGS: ClassVar = [Binding("escape,q,question_mark,f1,enter,backspace", "dismiss", show=False)]
    DEFAULT_CSS = (
        "HelpScreen { align: center middle; } HelpView { width: 100%; max-width: 96; height: 90%; padding: 0 1; }"
    )

    def __init__(self, pane: int, palette: Palette, leaving: Leaving = QUITS) -> None:
        super().__init__()
        self._view = HelpView(pane, palette, leaving)

    def compose(self) -> ComposeResult:
        yield self._view


def help_rows(pane: int, leaving: Leaving = QUITS) -> list[Line]:
    """The text of the help for one pane."""
    return [
        line((ABOUT[pane], "")),
        line(),
        line((LEGEND, "")),
        *_signs(),
        line((f"Shift takes the same step backwards: {_twins()}.", "hint")),
        *_languages(),
        *(row for group in GROUPS for row in group_rows(entries(leaving), group, KEYS_WIDTH)),
        line(),
        line(("Esc or q closes this help.", "dim")),
    ]


def _twins() -> str:
    """The step keys with their backward twins: ``s and S, n and N``."""
    steps = [key for key in in_force().entries if key.group == STEP]
    return ", ".join(f"{step.first} and {back.first}" for step, back in zip(steps[::2], steps[1::2], strict=True))


def _languages() -> list[Line]:
    """The rows on the syntax of a search, a filter and a breakpoint."""
    search, keep, stop = (key_of(f"ask_{what}").first for what in ("search", "filter", "breakpoint"))
    terms = (
        'words, "a phrase", key:CUDA op:add node:Mul tensor:z line:8 file:forum.py event:NodeCreated says:leaf. A '
        "step must match all of them."
    )
    places = (
        "37, line 6, forum.py:6, variable z, node AddBackward0, operator add, torch.add, key CUDA, event NodeCreated."
        " Add if depth > 2 and key == CPU to test the fields of the event. Add ignore 3 to skip the first three "
        "stops."
    )
    return [
        line(),
        line((f"  {f'{search} {keep}':<14}", "keycap"), terms, indent=16),
        line((f"  {stop:<14}", "keycap"), places, indent=16),
    ]


def _signs() -> list[Line]:
    """The rows with the signs of the groups of steps."""
    pairs = [f"{sign} {name:<14}" for name, sign in SIGNS.items()]
    return [line("".join(pairs[at : at + SIGNS_IN_ROW])) for at in range(0, len(pairs), SIGNS_IN_ROW)]
