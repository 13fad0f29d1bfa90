"""The comparison screen as a Textual application. It ends when the reader goes back or chooses a run to step through,
which the caller then opens.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.actions import parse

from dispatchviz.tui.comparison.comparison_actions import (
    COMPARISON_ACTIONS,
    Opened,
    Reply,
    Shown,
    how_to_quit,
    open_step,
)
from dispatchviz.tui.comparison.comparison_screen import ComparisonScreen, Pointed
from dispatchviz.tui.comparison.comparison_state import COMPARISON_KEYMAP, Compared, opened
from dispatchviz.tui.comparison.two_runs import TwoRuns
from dispatchviz.tui.home.text_screen import TextScreen
from dispatchviz.tui.terminal.terminal_app import TerminalApp, run_to_its_end
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


class ComparisonApp(TerminalApp[Opened]):
    """The application with the comparison screen."""

    def __init__(self, state: Compared) -> None:
        view = ComparisonScreen(state)
        super().__init__(view, COMPARISON_KEYMAP)
        self.view = view

    @property
    def state(self) -> Compared:
        """The state that is shown."""
        return self.view.state

    @property
    def what_failed(self) -> str:
        return "the comparison screen failed"

    async def run_key_action(self, action: str) -> bool:
        """Run an action of the keymap: one of ``COMPARISON_ACTIONS``, else of the application."""
        namespace, name, arguments = parse(action)
        if namespace:
            return await self.run_action(action, self.view)
        if name == "page":
            down = arguments[0] == 1
            self.view.show(self.state.move(self.view.page if down else -self.view.page))
        elif name in COMPARISON_ACTIONS:
            self.carry_out(COMPARISON_ACTIONS[name](self.state, *arguments))
        return True

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

    def on_pointed(self, message: Pointed) -> None:
        """Go to the row that was clicked; a click on the cursor's row is Enter."""
        if self.screen is not self.view:
            return
        if message.at == self.state.at:
            self.carry_out(open_step(self.state))
        else:
            self.view.show(self.state.goto(message.at))

    def action_help_quit(self) -> None:
        self.view.show(how_to_quit(self.state))
