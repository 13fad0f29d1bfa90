"""The screen with lanes as a Textual application. It ends when the reader quits or chooses a process to step through,
which the caller then opens.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from dispatchviz.explain.comparison.ranks.lanes import Lanes
from dispatchviz.explain.comparison.ranks.member import Member
from dispatchviz.tui.home.text_screen import TextScreen
from dispatchviz.tui.lanes import lanes_rows
from dispatchviz.tui.lanes.lanes_state import LANES_KEYMAP, LanesState
from dispatchviz.tui.screens.rows_app import RowsApp
from dispatchviz.tui.terminal.terminal_app import run_to_its_end
from dispatchviz.views.keymap import GOES_TO_LANES
from dispatchviz.views.session import OpenStepper


class Opened(Struct, frozen=True):
    """The request to close the screen and open a process in the stepper."""

    member: Member
    step: int


def show(lanes: Lanes, open_stepper: OpenStepper) -> None:
    """Open the screen until the reader quits. When the reader chooses a process, open a stepper on it.

    Raise StepperError if a screen fails, EndedBySignal if a signal ends it.
    """
    state = first_state(lanes)
    while True:
        app = LanesApp(state)
        run_to_its_end(app)
        chosen, state = app.return_value, app.state
        if chosen is None:
            return
        open_stepper(chosen.member.trace, chosen.step, chosen.member.file, (), leaving=GOES_TO_LANES)


def first_state(lanes: Lanes) -> LanesState:
    """Return the initial state: at the first collective that the ranks do not agree in, if there is one."""
    wrong = (at for at, row in enumerate(lanes.rows) if row.meeting is not None and not row.meeting.agrees)
    return LanesState(lanes, at=next(wrong, 0))


class LanesApp(RowsApp[LanesState, Opened]):
    """The application with the lanes."""

    def __init__(self, state: LanesState) -> None:
        super().__init__(state, lanes_rows, LANES_KEYMAP)

    @property
    def what_failed(self) -> str:
        return "the screen with lanes failed"

    def act(self, name: str, *arguments: int) -> None:
        if name in MOVES:
            self.view.show(MOVES[name](self.state, *arguments))
        elif name == "open":
            self.open_step()
        elif name == "help":
            self.push_screen(TextScreen("Help", lambda width: lanes_rows.help_rows(), self.view.palette))

    def open_step(self) -> None:
        """Open the stepper at the cursor's row, in the chosen process."""
        step = self.state.step
        if step is None:
            self.view.show(self.state.noted(f"{self.state.member.name} has no step up to this row"))
        else:
            self.exit(Opened(self.state.member, step))

    def action_help_quit(self) -> None:
        quits = next(key.first for key in LANES_KEYMAP if key.action == "app.quit")
        self.view.show(self.state.noted(f"{quits} quits"))


MOVES: dict[str, Callable[..., LanesState]] = {
    "meeting": LanesState.to_meeting,
    "move": LanesState.move,
    "goto": LanesState.goto,
    "beside": LanesState.beside,
}
"""The actions that change only the state, by their names in the keymap."""
