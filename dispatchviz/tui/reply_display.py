"""The display of the replies of actions: an ``Update``, a ``Question``, an ``Overlay``, and running work.

Elsewhere: the actions (``actions.py``), the key of each action (``app.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dispatchviz.explain.predictions.prediction import Prediction
from dispatchviz.tui.actions import Overlay, Reply
from dispatchviz.tui.commands import predicting, searching
from dispatchviz.tui.commands.following import Following
from dispatchviz.tui.commands.long_work import LongWork
from dispatchviz.tui.commands.playing import Playing
from dispatchviz.tui.screens.stepper_screen import StepperScreen
from dispatchviz.views import lesson_rows
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import Line, line

if TYPE_CHECKING:
    from dispatchviz.tui.app import StepperApp


class ReplyDisplay:
    """The display of a stepper, and everything that happens without a key: long work, playing, a growing recording."""

    def __init__(self, app: StepperApp, session: Session, view: StepperScreen) -> None:
        self._app, self._session, self._view = app, session, view
        self.playing = Playing(session, app.play_after, self.show)
        self._work = LongWork(session, self._after, self.show)

    def carry_out(self, reply: Reply | None) -> None:
        """Carry out the reply of an action; None if it is already done."""
        if reply is None or isinstance(reply, Update):
            self.show(reply)
        elif isinstance(reply, Overlay):
            self._app.push_screen(reply.make(self._view), self.show)
        elif self._view.prompt is not None:  # as always, no key is handled before that
            self._view.prompt.ask(reply, self.show)

    def show(self, update: Update | None) -> None:
        """Make a cursor the current one and show it; None if nothing has changed."""
        if update is None:
            return
        if update.opens is not None:
            self._app.exit(update.opens)
            return
        cursor = predicting.masked(self._session, update.cursor).played(self.playing.tempo)
        self._session.cursor = cursor
        self._work.shown()
        if update.clipboard:
            self._app.copy_to_clipboard(update.clipboard)
        lesson = lesson_rows.said(self._session, cursor)
        note = update.note or (None if lesson.alone else predicting.guess_note(self._session, cursor.at))
        self._view.show(cursor, note, asks=update.asks, lesson=lesson)
        self._go_on(update)

    def _go_on(self, update: Update) -> None:
        """Start the work that follows an update, once it is on the screen."""
        if update.asks is not None:
            self._ask(update.asks)
        if (then := update.then) is not None:
            self._app.call_after_refresh(lambda: self.show(then()))
        self._work.begin(update.goes_on or searching.meanwhile(self._session, lambda: self._view.scene.note))
        if update.later is not None:
            Thread(target=self._do_later, args=[update.later], daemon=True).start()  # quitting does not wait for it

    def _ask(self, asked: Prediction) -> None:
        """Open a question over the stepper. Its answer continues the move."""
        from dispatchviz.tui.screens.prediction_screen import PredictionScreen

        presenting = self._view.scene.choice.presenting
        self._app.push_screen(PredictionScreen(self._session, asked, self._view.palette, presenting), self.show)

    def _do_later(self, later: Callable[[], Line]) -> None:
        note = later()
        self._app.from_thread(lambda: self.show(Update(self._session.cursor, note)))

    def _after(self, seconds: float, work: Callable[[], None]) -> None:
        """Call a function after some seconds, unless the stepper ends before that."""
        self._app.set_timer(seconds, lambda: None if self._app._exit else work())

    def stop_for_key(self, key: str) -> bool:
        """Stop playing, and long work that the open question has not requested. Return whether the key has no other
        effect, as with Space and Esc. ``key`` is empty for pasted text.
        """
        if key and self.playing.key(key):
            return True
        if self._is_asking or not self._work.is_going_on:
            return False
        self._work.begin(None)
        if key == "escape":
            self._session.search.stop()
            self.show(Update(self._session.cursor, line((" Stopped", "hint"))))
        return key == "escape"

    def show_grown(self, following: Following) -> None:
        """Show the events that were recorded meanwhile, unless the reader is typing or a text is open."""
        if self._view.prompt is None or self._is_asking or self._work.is_going_on:
            return
        if self._app.screen is not self._view or (trace := following.take()) is None:
            return
        update = self._session.grown(trace)
        self.show(replace(update, note=update.note or self._view.scene.note))

    @property
    def _is_asking(self) -> bool:
        return self._view.prompt is not None and self._view.prompt.question is not None
