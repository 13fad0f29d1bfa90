"""The home screen as a Textual application. It ends when the reader quits or makes a choice.

The caller carries out the choice, in the terminal as the shell left it. So a program has its output, its keyboard and
Ctrl+C for itself, as under ``dispatchviz run``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from threading import Thread

from msgspec.structs import replace
from textual.actions import parse
from textual.app import SystemCommand
from textual.screen import Screen

from dispatchviz.tui.home.home_actions import HOME_ACTIONS, At, how_to_quit, open_entry
from dispatchviz.tui.home.home_keymap import home_keys
from dispatchviz.tui.home.home_list import Entry, Home
from dispatchviz.tui.home.home_replies import Chosen, LookUp, Refused, Reply, Shown
from dispatchviz.tui.home.home_screen import HomeScreen, Pointed
from dispatchviz.tui.home.text_screen import Text, TextScreen
from dispatchviz.tui.terminal.keymaps import KEYMAPS, use_named
from dispatchviz.tui.terminal.terminal_app import TerminalApp, run_to_its_end

LookAgain = Callable[[], tuple[Entry, ...]]
"""A function that returns the rows of the stored traces with their contents, which takes longer than their names."""


def show(home: Home, look_up: LookUp, look_again: LookAgain) -> tuple[Home, Chosen | None]:
    """Open the screen. Return its last state and the reader's choice, or None if the reader quits.

    Raise StepperError if the screen fails, EndedBySignal if a signal ends it.
    """
    app = HomeApp(home, look_up, look_again)
    run_to_its_end(app)
    return app.home, app.return_value


class HomeApp(TerminalApp[Chosen]):
    """The application with the home screen."""

    def __init__(self, home: Home, look_up: LookUp, look_again: LookAgain) -> None:
        view = HomeScreen(home)
        super().__init__(view, home_keys())
        self.view, self._look_up, self._look_again = view, look_up, look_again
        self._traces = home.traces

    @property
    def home(self) -> Home:
        """The state that is shown."""
        return self.view.home

    @property
    def what_failed(self) -> str:
        return "the home screen failed"

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield from super().get_system_commands(screen)
        for name in KEYMAPS:
            yield SystemCommand(f"Keys: the {name} keymap", "", partial(self.use_keymap, name))

    def use_keymap(self, name: str) -> None:
        """Change the keymap, also for the stepper."""
        use_named(name)
        self.use_keys(home_keys())
        self.show(self.home.noted(f"Now using the {name} keymap"))

    def on_complete(self) -> None:
        Thread(target=self._look, daemon=True).start()  # quitting does not wait for it

    def _look(self) -> None:
        traces = self._look_again()
        self.from_thread(lambda: self._show_traces(traces))

    def _show_traces(self, traces: tuple[Entry, ...]) -> None:
        self._traces = traces
        self.show(self.home)

    async def run_key_action(self, action: str) -> bool:
        """Run an action of the keymap: one of ``HOME_ACTIONS``, else of the application."""
        namespace, name, arguments = parse(action)
        if namespace:
            return await self.run_action(action, self.view)
        if name == "page":
            down = arguments[0] == 1
            self.show(self.home.move(self.view.page if down else -self.view.page))
        else:
            self.carry_out(HOME_ACTIONS[name](At(self.home, self._look_up), *arguments))
        return True

    def carry_out(self, reply: Reply) -> None:
        """Carry out the reply of an action or an answer."""
        if isinstance(reply, Chosen):
            self.exit(reply)
        elif isinstance(reply, Text):
            self.show(replace(self.home, note=None))
            self.push_screen(TextScreen(reply.title, reply.rows, self.view.palette))
        elif isinstance(reply, Shown):
            self.show(reply.home)
            if reply.clipboard:
                self.copy_to_clipboard(reply.clipboard)
        elif self.view.prompt is not None:  # as always, no key is handled before that
            question, text = (reply.question, reply.text) if isinstance(reply, Refused) else (reply, "")
            self.view.prompt.ask(question, self.carry_out, text)
            if isinstance(reply, Refused):
                self.show(reply.home)

    def show(self, home: Home) -> None:
        """Show a state of the screen."""
        self.view.show(home if home.traces is self._traces else replace(home, traces=self._traces))

    def on_pointed(self, message: Pointed) -> None:
        """Choose the entry that was clicked; a click on the chosen entry is Enter."""
        if self.screen is not self.view:
            return
        if message.at == self.home.at:
            self.carry_out(open_entry(At(self.home, self._look_up)))
        else:
            self.show(self.home.goto(message.at))

    def action_help_quit(self) -> None:
        self.show(how_to_quit(self.home))
