"""The stepper as a Textual application: it receives keys, runs actions and shows their replies.

Elsewhere: the actions (``actions.py``), how a reply is shown (``reply_display.py``), the screen
(``screens/stepper_screen.py``), the keys (``keymap.py``).
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import events
from textual.actions import parse
from textual.app import SystemCommand
from textual.screen import Screen
from textual.timer import Timer

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.followed_file import FollowedFile
from dispatchviz.foundation.terminal_output import complain, print_lines
from dispatchviz.tui.actions import ACTIONS, ask_thing, how_to_quit
from dispatchviz.tui.commands import moves, predicting
from dispatchviz.tui.commands.choosing_panes import PANE_ACTIONS
from dispatchviz.tui.commands.focused_pane import FOCUS_ACTIONS
from dispatchviz.tui.commands.following import INTERVAL, Following
from dispatchviz.tui.commands.playing import Playing
from dispatchviz.tui.reply_display import ReplyDisplay
from dispatchviz.tui.screens.stepper_screen import StepperScreen
from dispatchviz.tui.terminal.keymaps import KEYMAPS, of_other_keymaps, use_from_environment, use_named
from dispatchviz.tui.terminal.terminal_app import TerminalApp, run_to_its_end
from dispatchviz.tui.widgets.rows_view import Ask, Goto
from dispatchviz.views import lesson_rows
from dispatchviz.views.keymap import QUITS, Leaving, entries
from dispatchviz.views.layout.pane_choice import PaneChoice
from dispatchviz.views.session import OpenStepper, Session, Update
from dispatchviz.views.text.styled_line import line

if TYPE_CHECKING:
    from dispatchviz.lessons.guide import Guide  # not needed for the first paint


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
    """Open the stepper on a trace and return when the reader quits.

    - ``step``: the first step to show. By default, the first step, or the last one if the program raised an error.
    - ``file``: the file of the trace, if there is one; marks are stored beside it.
    - ``run_arguments``: the arguments of ``dispatchviz run`` that run the program again. Empty if nothing does; None
      means only its file.
    - ``followed``: the source of new events while the trace is recorded.
    - ``leaving``: the place that the quit key leads to.
    - ``guide``: the lesson of the trace.
    - ``presenting``: whether to start in presenter mode.

    The caller must have checked ``can_run``.

    Raise StepperError if the stepper itself fails, EndedBySignal if a signal ends it.
    """
    if not len(trace):
        print_lines([f"{trace.header.program}: nothing was recorded, so there are no steps to show"])
        return
    if wrong := use_from_environment():
        complain(wrong)
    session = Session(trace, step, file, run_arguments, followed, leaving=leaving, guide=guide)
    choice = PaneChoice(presenting=True) if presenting else None
    gc.freeze()  # a garbage collection of the whole trace would delay a step by two frames
    try:
        while True:
            app = StepperApp(session, choice)
            run_to_its_end(app)
            if app.return_value is None:
                return
            app.return_value(show)
            choice = app.view.scene.choice
    finally:
        gc.unfreeze()


class StepperApp(TerminalApp[Callable[[OpenStepper], None]]):
    """The stepper on one trace, which has at least one event. Its result is a function that opens another screen until
    the stepper returns, or None.
    """

    def __init__(self, session: Session, choice: PaneChoice | None = None) -> None:
        """Create the application; ``choice`` are the panes that the reader has chosen so far."""
        session.cursor = predicting.masked(session, session.cursor)
        said, begins = lesson_rows.said(session, session.cursor), session.at_first_mistake
        view = StepperScreen(session.cursor, choice, session.leaving, said, begins)
        super().__init__(view, entries(session.leaving))
        self.session, self.view = session, view
        self.replies = ReplyDisplay(self, session, view)
        self._following: Following | None = None

    @property
    def playing(self) -> Playing:
        """The clock that plays the trace."""
        return self.replies.playing

    def on_mount(self) -> None:
        if self.session.followed is not None and not self.session.followed.over:
            self._following = Following(self.session.followed)
            self._following.start()
            self.set_interval(INTERVAL, partial(self.replies.show_grown, self._following))

    def on_unmount(self) -> None:
        if self._following is not None:
            self._following.stop()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield from super().get_system_commands(screen)
        for name in KEYMAPS:
            yield SystemCommand(f"Keys: the {name} keymap", "", partial(self.use_keymap, name))

    def use_keymap(self, name: str) -> None:
        """Change the keymap."""
        use_named(name)
        self.use_keys(entries(self.session.leaving))
        self.view.show_keys()
        self.show(Update(self.session.cursor, line((f" Now using the {name} keymap", "hint"))))

    @property
    def what_failed(self) -> str:
        return f"the stepper failed at step {self.session.cursor.at}"

    def before_key(self, event: events.Key | events.Paste) -> bool:
        """Ignore Enter after the number of an answer, so that the verdict stays on the screen. A key may also stop
        running work.
        """
        due, self.session.enter_is_due = self.session.enter_is_due, False
        key = event.key if isinstance(event, events.Key) else ""
        return (due and key == "enter") or self.replies.stop_for_key(key)

    def key_actions(self) -> Mapping[str, str]:
        """The actions of all keys. The keys of other keymaps get an action that names their keymap."""
        return {**of_other_keymaps(), **super().key_actions()}

    async def run_key_action(self, action: str) -> bool:
        """Run an action of the keymap: one of ``ACTIONS`` or ``PANE_ACTIONS``, with ``app.`` one of ``FOCUS_ACTIONS``,
        or else an action of the screen or the application.
        """
        namespace, name, arguments = parse(action)
        self.session.focused_pane = self.view.focused_pane
        if namespace == "app" and name in FOCUS_ACTIONS:
            self.replies.carry_out(FOCUS_ACTIONS[name](self.session, self.view, *arguments))
        elif not namespace and name in ACTIONS:
            self.replies.carry_out(ACTIONS[name](self.session, *arguments))
        elif not namespace and name in PANE_ACTIONS:
            PANE_ACTIONS[name](self.view, *arguments)
        else:
            return await self.run_action(action, self.view)
        return True

    def show(self, update: Update | None) -> None:
        """Show the update of a command."""
        self.replies.show(update)

    def on_goto(self, message: Goto) -> None:
        self.show(moves.goto(self.session, message.step))

    def on_ask(self, message: Ask) -> None:
        self.replies.carry_out(ask_thing(self.session, message.row))

    def action_autoplay(self) -> None:
        """Play row after row until a question, the end, or a key that does not change the tempo."""
        self.playing.begin()

    def action_help_quit(self) -> None:
        self.show(how_to_quit(self.session))

    def play_after(self, seconds: float) -> Timer:
        """Call ``play`` after some seconds."""
        return self.set_timer(seconds, self.play)

    def play(self) -> None:
        """Go to the next row, unless a text is open over the stepper."""
        if self.playing.is_on and self.screen is self.view:
            self.playing.next_row()
