"""The stepper as a Textual application: keys come in, actions run, what they return is shown.

What an action does is in ``actions.py``, what is on the screen in ``screens/stepper_screen.py``, which keys there are
in ``keymap.py``.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from threading import Thread
from time import monotonic

from textual import events
from textual.actions import parse

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.followed_file import FollowedFile
from dispatchviz.terminal_output import print_lines
from dispatchviz.tui.actions import ACTIONS, Overlay, Reply, ask_thing, go_to_row, how_to_quit
from dispatchviz.tui.commands import moves
from dispatchviz.tui.commands.following import INTERVAL, Following
from dispatchviz.tui.keymap import KEYMAP
from dispatchviz.tui.layout.pane_layout import STEPS
from dispatchviz.tui.screens.stepper_screen import StepperScreen
from dispatchviz.tui.session import Session, Update
from dispatchviz.tui.terminal.terminal_app import TerminalApp, run_to_its_end
from dispatchviz.tui.text.styled_line import Line, line
from dispatchviz.tui.widgets.rows_view import Ask, Goto


def show(
    trace: Trace,
    step: int | None = None,
    file: str = "",
    run_arguments: Sequence[str] | None = None,
    followed: FollowedFile | None = None,
) -> None:
    """Opens the stepper on a trace and returns when the reader quits.

    ``step`` is where to begin; without it that is the first step, or the last one if the program raised. ``file`` is
    where the trace is kept, if it is: marks go beside it. ``run_arguments`` runs the program again, after
    ``dispatchviz run``: empty if nothing does, None for no more than its file. ``followed`` is where more of the trace
    comes from while it is recorded. The caller has checked ``can_run`` before.

    Raises StepperError if the stepper itself fails, EndedBySignal if a signal ends it.
    """
    if not len(trace):
        print_lines([f"{trace.header.program}: nothing was recorded, so there are no steps to show"])
        return
    app = StepperApp(Session(trace, step, file, run_arguments, followed))
    gc.freeze()  # the trace stays: looking through all of it now and then would delay a step by two frames
    try:
        run_to_its_end(app)
    finally:
        gc.unfreeze()


PAUSE = 0.001
"""Seconds between slices of long work, in which keys are read and the screen is painted."""

REPORTED = 0.1
"""Seconds between two looks of the reader at how far long work is."""


class StepperApp(TerminalApp[None]):
    """The stepper on one trace, which has at least one event."""

    def __init__(self, session: Session) -> None:
        view = StepperScreen(session.cursor)
        super().__init__(view, KEYMAP)
        self.session, self.view = session, view
        self._slice: Callable[[], Update] | None = None
        """The next slice of what is not done yet."""
        self._following: Following | None = None
        self._shown = 0.0
        """When something was shown last."""

    def on_mount(self) -> None:
        if self.session.followed is not None and not self.session.followed.over:
            self._following = Following(self.session.followed)
            self._following.start()
            self.set_interval(INTERVAL, partial(self._show_grown, self._following))

    def on_unmount(self) -> None:
        if self._following is not None:
            self._following.stop()

    @property
    def what_failed(self) -> str:
        return f"the stepper failed at step {self.session.cursor.at}"

    def before_key(self, event: events.Key | events.Paste) -> bool:
        """Long work stops at every key; Esc does no more than that."""
        if self._stop_work() and isinstance(event, events.Key) and event.key == "escape":
            self.show(Update(self.session.cursor, line((" Stopped", "hint"))))
            return True
        return False

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
        self.session.cursor, self._shown = update.cursor, monotonic()
        if update.clipboard:
            self.copy_to_clipboard(update.clipboard)
        self.view.show(update.cursor, update.note)
        if (then := update.then) is not None:
            self.call_after_refresh(lambda: self.show(then()))
        self._begin(update.goes_on)
        if update.later is not None:
            Thread(target=self._work, args=[update.later], daemon=True).start()  # quitting does not wait for it

    def _begin(self, work: Callable[[], Update] | None) -> None:
        """Has a slice of long work done when the keys that wait are answered; instead of what was going on."""
        self._slice = work
        if work is not None:
            self.set_timer(PAUSE, lambda: self._go_on(work))

    def _go_on(self, work: Callable[[], Update]) -> None:
        if self._slice is not work or self._exit:
            return
        update = work()
        if update.goes_on and update.cursor.at == self.session.cursor.at and monotonic() < self._shown + REPORTED:
            self._begin(update.goes_on)
        else:
            self.show(update)

    def _stop_work(self) -> bool:
        """Drops long work that nobody has asked for in the open question; returns whether there was some."""
        asking = self.view.prompt is not None and self.view.prompt.question is not None
        if self._slice is None or asking:
            return False
        self._slice = None
        return True

    def _show_grown(self, following: Following) -> None:
        """Shows what has been recorded meanwhile; not while the reader types or looks at a text that is open."""
        asked = self.view.prompt is None or self.view.prompt.question is not None
        if asked or self._slice is not None or self.screen is not self.view or (trace := following.take()) is None:
            return
        update = self.session.grown(trace)
        self.show(replace(update, note=update.note or self.view.scene.note))

    def _work(self, later: Callable[[], Line]) -> None:
        note = later()
        with suppress(RuntimeError):  # the reader has quit
            self.call_from_thread(lambda: self.show(Update(self.session.cursor, note)))

    def on_goto(self, message: Goto) -> None:
        self.show(moves.goto(self.session, message.step))

    def on_ask(self, message: Ask) -> None:
        self.carry_out(ask_thing(self.session, message.row))

    def action_page(self, direction: int) -> None:
        """A page of the pane that has the focus; in the steps that moves the cursor."""
        if rows := self.view.scroll_page(direction):
            self.show(Update(self.session.cursor.page(rows)))

    def action_row(self, direction: int) -> None:
        """The next row: the one of the cursor in the steps, the chosen one in another pane."""
        if self.view.focused_pane == STEPS:
            self.show(moves.move(self.session, "down" if direction > 0 else "up"))
        else:
            moved = self.view.panes[self.view.focused_pane].choose(direction)
            note = None if moved else line((" No row on that side leads anywhere", "hint"))
            self.show(Update(self.session.cursor, note))

    def action_enter(self) -> None:
        """Unfolds the row of the steps; in another pane goes where the chosen row leads, else shows that pane alone."""
        if self.view.focused_pane == STEPS:
            self.show(moves.move(self.session, "unfold"))
        elif (row := self.view.chosen_row) is not None:
            self.carry_out(go_to_row(self.session, row))
        else:
            self.view.action_zoom()

    def action_ask_thing(self) -> None:
        """Asks about what the chosen row of a pane names; without one about what the step does."""
        self.carry_out(ask_thing(self.session, self.view.chosen_row))

    def action_help_quit(self) -> None:
        self.show(how_to_quit(self.session))
