"""The stepper as a Textual application: keys come in, actions run, what they return is shown.

What an action does is in ``actions.py``, what is on the screen in ``screens/stepper_screen.py``, which keys there are
in ``keymap.py``.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING

from textual import events
from textual.actions import parse
from textual.app import SystemCommand
from textual.screen import Screen
from textual.timer import Timer

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.followed_file import FollowedFile
from dispatchviz.explain.predictions.prediction import Prediction
from dispatchviz.foundation.terminal_output import complain, print_lines
from dispatchviz.tui.actions import ACTIONS, Overlay, Reply, ask_thing, go_to_row, how_to_quit
from dispatchviz.tui.commands import autoplay, moves, predicting, searching
from dispatchviz.tui.commands.following import INTERVAL, Following
from dispatchviz.tui.screens.stepper_screen import StepperScreen
from dispatchviz.tui.terminal.keymaps import KEYMAPS, of_other_keymaps, use_from_environment, use_named
from dispatchviz.tui.terminal.terminal_app import TerminalApp, run_to_its_end
from dispatchviz.tui.widgets.rows_view import Ask, Goto
from dispatchviz.views import autoplay_tempo, lesson_rows
from dispatchviz.views.keymap import QUITS, Leaving, entries, pane_key
from dispatchviz.views.layout.pane_choice import PaneChoice
from dispatchviz.views.layout.pane_layout import STEPS
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import Line, line

if TYPE_CHECKING:
    from dispatchviz.lessons.guide import Guide  # not for the first paint


def show(
    trace: Trace,
    step: int | None = None,
    file: str = "",
    run_arguments: Sequence[str] | None = None,
    followed: FollowedFile | None = None,
    leaving: Leaving = QUITS,
    guide: Guide | None = None,
    presenting: bool = False,
) -> None:
    """Opens the stepper on a trace and returns when the reader quits.

    ``step`` is where to begin; without it that is the first step, or the last one if the program raised. ``file`` is
    where the trace is kept, if it is: marks go beside it. ``run_arguments`` runs the program again, after
    ``dispatchviz run``: empty if nothing does, None for no more than its file. ``followed`` is where more of the trace
    comes from while it is recorded. ``leaving`` is where the key leads that closes it, ``guide`` the
    lesson that the trace is of, ``presenting`` whether an audience looks. The caller has checked ``can_run`` before.

    Raises StepperError if the stepper itself fails, EndedBySignal if a signal ends it.
    """
    if not len(trace):
        print_lines([f"{trace.header.program}: nothing was recorded, so there are no steps to show"])
        return
    if wrong := use_from_environment():
        complain(wrong)
    session = Session(trace, step, file, run_arguments, followed, leaving=leaving, guide=guide)
    choice = PaneChoice(presenting=True) if presenting else None
    gc.freeze()  # the trace stays: looking through all of it now and then would delay a step by two frames
    try:
        while True:
            app = StepperApp(session, choice)
            run_to_its_end(app)
            if app.return_value is None:
                return
            app.return_value()
            choice = app.view.scene.choice
    finally:
        gc.unfreeze()


PAUSE = 0.001
"""Seconds between slices of long work, in which keys are read and the screen is painted."""

REPORTED = 0.1
"""Seconds between two looks of the reader at how far long work is."""


class StepperApp(TerminalApp[Callable[[], None]]):
    """The stepper on one trace, which has at least one event. It ends with what has the terminal before it is there
    again, or with None."""

    def __init__(self, session: Session, choice: PaneChoice | None = None) -> None:
        """``choice``: the panes that the reader has chosen by now."""
        session.cursor = predicting.masked(session, session.cursor)
        view = StepperScreen(session.cursor, choice, session.leaving, lesson_rows.said(session, session.cursor))
        super().__init__(view, entries(session.leaving))
        self.session, self.view = session, view
        self._slice: Callable[[], Update] | None = None
        """The next slice of what is not done yet."""
        self._following: Following | None = None
        self._playing: Timer | None = None
        """Goes to the next row by itself."""
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

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield from super().get_system_commands(screen)
        for name in KEYMAPS:
            yield SystemCommand(f"Keys: the {name} keymap", "", partial(self.use_keymap, name))

    def use_keymap(self, name: str) -> None:
        """The reader wants other keys."""
        use_named(name)
        self.use_keys(entries(self.session.leaving))
        for pane in self.view.panes.values():
            pane.key = pane_key(pane.number)
            pane.refresh()
        self.show(Update(self.session.cursor, line((f" The keys are those of the {name} keymap", "hint"))))

    @property
    def what_failed(self) -> str:
        return f"the stepper failed at step {self.session.cursor.at}"

    def before_key(self, event: events.Key | events.Paste) -> bool:
        """Long work stops at every key; Esc does no more than that. So does what plays, and Space. Enter behind the
        number of an answer leaves what is said to it on the screen."""
        due, self.session.enter_is_due = self.session.enter_is_due, False
        if due and isinstance(event, events.Key) and event.key == "enter":
            return True
        if self._playing is not None and isinstance(event, events.Key):
            self._playing.stop()
            if by := autoplay.tempo_change(event.key):
                changed = autoplay.at_tempo(self.session, by)
                self._play_on()
                self.show(changed)
                return True
            self._playing = None
            self.show(Update(self.session.cursor, autoplay_tempo.paused()))
            if event.key in ("space", "escape"):
                return True
        if self._stop_work() and isinstance(event, events.Key) and event.key == "escape":
            self.session.search.stop()
            self.show(Update(self.session.cursor, line((" Stopped", "hint"))))
            return True
        return False

    def key_actions(self) -> Mapping[str, str]:
        """Also of the keys that other keymaps have: these say so."""
        return {**of_other_keymaps(), **super().key_actions()}

    async def run_key_action(self, action: str) -> bool:
        """Runs an action of the keymap: one of ``ACTIONS``, else of the screen or, as ``app.``, of the application."""
        namespace, name, arguments = parse(action)
        if namespace or name not in ACTIONS:
            return await self.run_action(action, self.view)
        self.session.focused_pane = self.view.focused_pane
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
        if update.opens is not None:
            self.exit(update.opens)
            return
        playing = autoplay.told(self.session) if self._playing is not None else ""
        cursor = predicting.masked(self.session, update.cursor).played(playing)
        self.session.cursor, self._shown = cursor, monotonic()
        if update.clipboard:
            self.copy_to_clipboard(update.clipboard)
        lesson = lesson_rows.said(self.session, cursor)
        note = update.note or (None if lesson.alone else predicting.guess_note(self.session, cursor.at))
        self.view.show(cursor, note, asks=update.asks, lesson=lesson)
        if update.asks is not None:
            self._ask(update.asks)
        if (then := update.then) is not None:
            self.call_after_refresh(lambda: self.show(then()))
        self._begin(update.goes_on or self._search_on())
        if update.later is not None:
            Thread(target=self._work, args=[update.later], daemon=True).start()  # quitting does not wait for it

    def _ask(self, asked: Prediction) -> None:
        """Puts a question over the stepper; its answer leads on."""
        from dispatchviz.tui.screens.prediction_screen import PredictionScreen

        self.push_screen(PredictionScreen(self.session, asked, self.view.palette), self.show)

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

    def _search_on(self) -> Callable[[], Update] | None:
        """The next slice of a search that the reader has turned away from: its hits are marked, and counted."""
        search = self.session.search
        if search.complete or search.is_stopped:
            return None

        def slice_of_search() -> Update:
            update = searching.meanwhile(self.session, self.view.scene.note)
            return replace(update, goes_on=self._search_on())

        return slice_of_search

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
        self.from_thread(lambda: self.show(Update(self.session.cursor, note)))

    def on_goto(self, message: Goto) -> None:
        self.show(moves.goto(self.session, message.step))

    def on_ask(self, message: Ask) -> None:
        self.carry_out(ask_thing(self.session, message.row))

    def action_page(self, direction: int) -> None:
        """A page of the pane that has the focus; in the steps that moves the cursor, and for an audience by a step."""
        if self.view.scene.choice.presenting:
            step, stop = ("into", "resume") if direction > 0 else ("into_back", "resume_back")
            self.show(moves.move(self.session, step if self.session.guide is None else stop))
        elif rows := self.view.scroll_page(direction):
            self.show(moves.page(self.session, rows))

    def action_autoplay(self) -> None:
        """Plays row after row until a question, the end, or a key that is not for the tempo."""
        self._play_on()
        self.show(Update(self.session.cursor, autoplay_tempo.playing()))

    def _play_on(self) -> None:
        self._playing = self.set_timer(autoplay.row_time(self.session), self.play)

    def play(self) -> None:
        """Goes to the next row by itself."""
        if self._playing is None or self.screen is not self.view:
            return
        update = autoplay.next_row(self.session)
        if update is None or update.asks is not None:
            self._playing = None
        self.show(update or Update(self.session.cursor, autoplay_tempo.paused(": this is the last row")))
        if self._playing is not None:
            self._play_on()

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
