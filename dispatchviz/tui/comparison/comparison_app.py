"""The comparison screen as a Textual application. It ends when the reader goes back or chooses a run to step through,
which the caller then opens.
"""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.tui.comparison import comparison_rows
from dispatchviz.tui.comparison.comparison_actions import (
    COMPARISON_ACTIONS,
    Opened,
    Reply,
    Shown,
    how_to_quit,
)
from dispatchviz.tui.comparison.comparison_state import COMPARISON_KEYMAP, Compared, opened
from dispatchviz.tui.comparison.two_runs import TwoRuns
from dispatchviz.tui.home.text_screen import TextScreen
from dispatchviz.tui.screens.rows_app import RowsApp
from dispatchviz.tui.terminal.terminal_app import run_to_its_end
from dispatchviz.views.keymap import GOES_BACK
from dispatchviz.views.session import OpenStepper


def show(choices: Sequence[TwoRuns], open_stepper: OpenStepper) -> None:
    """Open the screen until the reader goes back. When the reader chooses a run, open a stepper on it.

    Raise StepperError if a screen fails, EndedBySignal if a signal ends it.
    """
    state = opened(Compared(tuple(choices)))
    while True:
        app = ComparisonApp(state)
        run_to_its_end(app)
        chosen, state = app.return_value, app.state
        if chosen is None:
            return
        side = chosen.side
        open_stepper(*side.opened_at(chosen.step), side.file, side.run_arguments, leaving=GOES_BACK)


class ComparisonApp(RowsApp[Compared, Opened]):
    """The application with the comparison screen."""

    def __init__(self, state: Compared) -> None:
        super().__init__(state, comparison_rows, COMPARISON_KEYMAP)

    @property
    def what_failed(self) -> str:
        return "the comparison screen failed"

    def act(self, name: str, *arguments: int) -> None:
        self.carry_out(COMPARISON_ACTIONS[name](self.state, *arguments))

    def carry_out(self, reply: Reply) -> None:
        """Carry out the reply of an action."""
        if isinstance(reply, Opened):
            self.exit(reply)
        elif isinstance(reply, Shown):
            self.view.show(reply.state)
            if reply.clipboard:
                self.copy_to_clipboard(reply.clipboard)
        else:
            self.push_screen(TextScreen(reply.title, reply.rows, self.view.palette))

    def action_help_quit(self) -> None:
        self.view.show(how_to_quit(self.state))
