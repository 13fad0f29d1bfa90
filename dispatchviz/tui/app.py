"""The stepper as a Textual application: keys come in, actions run, what they return is shown.

What an action does is in ``actions.py``, what is on the screen in ``screens/stepper_screen.py``, which keys there are
in ``keymap.py``.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial

from textual import events
from textual.actions import parse
from textual.app import App, SystemCommand
from textual.filter import LineFilter
from textual.screen import Screen

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui import terminal
from dispatchviz.tui.actions import ACTIONS, Overlay, Reply, how_to_quit
from dispatchviz.tui.commands import moves
from dispatchviz.tui.keymap import KEYMAP
from dispatchviz.tui.screens.stepper_screen import StepperScreen
from dispatchviz.tui.session import Session, Update
from dispatchviz.tui.text.palette import Uncoloured
from dispatchviz.tui.widgets.rows_view import Goto
from dispatchviz.tui.widgets.typed_keys import TypedKeys


def show(trace: Trace, step: int | None = None, file: str = "", run_arguments: Sequence[str] | None = None) -> None:
    """Opens the stepper on a trace and returns when the reader quits.

    ``step`` is where to begin; without it that is the first step, or the last one if the program raised. ``file`` is
    where the trace is kept, if it is: marks go beside it. ``run_arguments`` runs the program again, after
    ``dispatchviz run``: empty if nothing does, None for no more than its file. The caller has checked
    ``terminal.can_run`` before.
    """
    if not len(trace):
        print(f"{trace.header.program}: nothing was recorded, so there are no steps to show")
        return
    gc.freeze()  # the trace stays: looking through all of it now and then would delay a step by two frames
    try:
        StepperApp(Session(trace, step, file, run_arguments)).run()
    finally:
        gc.unfreeze()


def palette_commands(run: Callable[[str], Awaitable[bool]]) -> Iterator[SystemCommand]:
    """Every action of the keymap as ``group: what it does``."""
    for key in KEYMAP:
        if key.action != "app.command_palette":
            yield SystemCommand(f"{key.group}: {key.help}", key.shown, partial(run, key.action))


class StepperApp(App[None]):
    """The stepper on one trace, which has at least one event."""

    TITLE = "dispatchviz"

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session, self.view = session, StepperScreen(session.cursor)
        self._keys = TypedKeys(lambda: self.view.prompt, self.run_key_action)

    def get_default_screen(self) -> Screen[None]:
        return self.view

    def on_mount(self) -> None:
        self.theme_changed_signal.subscribe(self, self.view.use_theme)
        if terminal.is_there():
            self.set_interval(1, terminal.end_if_gone)  # else its input would be read for ever, at full speed

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [Uncoloured()] if self.no_color else super().get_line_filters()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield from palette_commands(self.run_key_action)
        yield SystemCommand("Colours: choose a theme", "", self.action_change_theme)

    async def on_event(self, event: events.Event) -> None:
        """Keys and pastes on the stepper go to ``TypedKeys`` first; Textual gets all else, and keys unknown there."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded or self.screen is not self.view:
            await super().on_event(event)
        elif not self._keys.hold(event):
            await self.on_ready()
            if not await self._keys.take(event):
                await super().on_event(event)

    async def on_ready(self) -> None:
        """Keys typed before the first screen was complete come before all that were typed later."""
        for event in self._keys.release():
            await self.on_event(event)

    async def run_key_action(self, action: str) -> bool:
        """Runs an action of the keymap: one of ``ACTIONS``, else of the screen or, as ``app.``, of the application."""
        namespace, name, arguments = parse(action)
        if namespace or name not in ACTIONS:
            return await self.run_action(action, self.view)
        self.carry_out(ACTIONS[name](self.session, *arguments))
        return True

    def carry_out(self, reply: Reply) -> None:
        """Does what an action returned."""
        if isinstance(reply, Update):
            self.show(reply)
        elif isinstance(reply, Overlay):
            self.push_screen(reply.make(self.view), self.show)
        elif self.view.prompt is not None:  # as always: no key is answered before
            self.view.prompt.ask(reply, self.show)

    def show(self, update: Update | None) -> None:
        """Makes a cursor the current one and shows it; None: nothing has changed."""
        if update is None:
            return
        self.session.cursor = update.cursor
        if update.clipboard:
            self.copy_to_clipboard(update.clipboard)
        self.view.show(update.cursor, update.note)
        if (then := update.then) is not None:
            self.call_after_refresh(lambda: self.show(then()))

    def on_goto(self, message: Goto) -> None:
        self.show(moves.goto(self.session, message.step))

    def action_page(self, direction: int) -> None:
        """A page of the pane that has the focus; in the steps that moves the cursor."""
        if rows := self.view.scroll_page(direction):
            self.show(Update(self.session.cursor.page(rows)))

    def action_help_quit(self) -> None:
        self.show(how_to_quit(self.session))
