"""The stepper: one cursor, and the screen shows the place where it stands.

A key starts an action, an action makes a new cursor, the screen (``view.py``) shows it. What a step says is in
``explain``, how it is laid out in the ``*_pane`` modules, which keys there are in ``keymap.py``.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from functools import partial

from textual import events
from textual.app import SystemCommand
from textual.binding import Binding
from textual.filter import LineFilter
from textual.screen import Screen
from textual.theme import Theme

from dispatchviz.core.record.events import ProgramRaised
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.folded_steps import FOLDED, shown_at_first
from dispatchviz.tui import layout, terminal
from dispatchviz.tui.cursor import Cursor
from dispatchviz.tui.keymap import KEYMAP, key_of
from dispatchviz.tui.marks import Marks
from dispatchviz.tui.notes import jumped, no_stop, went_nowhere
from dispatchviz.tui.palette import Palette, Uncoloured
from dispatchviz.tui.questions import Questions
from dispatchviz.tui.search import Search
from dispatchviz.tui.text import Line, line
from dispatchviz.tui.titled import Goto, TitledView
from dispatchviz.tui.view import StepperScreen


def show(trace: Trace, step: int | None = None, file: str = "", again: Sequence[str] | None = None) -> None:
    """Opens the stepper on a trace and returns when the reader quits.

    ``step`` is where to begin; without it that is the first step, or the last one if the program raised. ``file`` is
    where the trace is kept, if it is: marks go beside it. ``again`` is what runs the program again, after ``dispatchviz
    run``: empty if nothing does, None for no more than its file. The caller has asked ``terminal.can_run`` before.
    """
    if not len(trace):
        print(f"{trace.header.program}: nothing was recorded, so there are no steps to show")
        return
    gc.freeze()  # the trace stays: looking through all of it now and then would delay a step by two frames
    try:
        StepperApp(trace, step, file, again).run()
    finally:
        gc.unfreeze()


RESUMES = {"resume": True, "resume_back": False}
"""The moves that go to a stop, and whether they go forward."""

ACTIONS = {key: entry.action for entry in KEYMAP for key in entry.keys}
"""What a key does while the stepper has no question open and nothing over it."""

TYPED_AHEAD = "ctrl+j"
"""What Enter is when it was typed before the terminal was ours: until then a terminal makes a line feed of it."""


class StepperApp(Questions):
    """The stepper on one trace, which has at least one event."""

    TITLE = "dispatchviz"
    BINDINGS = [Binding(",".join(key.keys), key.action, key.help, show=False) for key in KEYMAP]  # noqa: RUF012

    def __init__(
        self, trace: Trace, step: int | None = None, file: str = "", again: Sequence[str] | None = None
    ) -> None:
        super().__init__()
        begin = len(trace) - 1 if step is None and isinstance(trace[-1], ProgramRaised) else step or 0
        self.file, self.marks = file, Marks(trace, file)
        self.again = [trace.header.program] if again is None else again
        at = max(0, min(begin, len(trace) - 1))
        shown = shown_at_first(trace)
        self.cursor = Cursor(trace, at, marks=frozenset(self.marks.names), shown=shown, words=FOLDED if shown else "")
        self.view = StepperScreen(self.cursor)
        self.search = Search(trace)
        self._origin, self._query = self.cursor, ""
        self._early: list[events.Key | events.Paste] = []

    def get_default_screen(self) -> Screen[None]:
        return self.view

    def on_mount(self) -> None:
        self.theme_changed_signal.subscribe(self, self._recolour)
        if terminal.is_there():
            self.set_interval(1, terminal.end_if_gone)  # else its input would be read for ever, at full speed

    def _recolour(self, theme: Theme) -> None:
        self.view.use_palette(Palette(self.theme_variables, self.no_color))

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [Uncoloured()] if self.no_color else super().get_line_filters()

    def stand(self, cursor: Cursor, note: Line | None = None) -> None:
        """Moves the reader, and says ``note`` about it."""
        self.cursor = cursor
        self.view.stand(cursor, note)

    # -- moves --------------------------------------------------------------------------------------------------------

    def action_move(self, how: str) -> None:
        """A step; ``how`` is a method of the cursor."""
        before, after = self.cursor, getattr(self.cursor, how)()
        if how in RESUMES and before.stop(RESUMES[how]) is None:
            self.stand(after, no_stop(after, RESUMES[how]))
        else:
            self.stand(after, None if after.at != before.at else went_nowhere(before, how))

    def action_jump(self, how: str) -> None:
        """A jump, which leaves a note."""
        before, after = self.cursor, getattr(self.cursor, how)()
        self.stand(after, jumped(before, after) if after.at != before.at else went_nowhere(before, how))

    def on_goto(self, message: Goto) -> None:
        before, after = self.cursor, self.cursor.goto(message.step)
        self.stand(after, jumped(before, after) if after.at != before.at else None)

    # -- keys ---------------------------------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """Keys have their effect one after the other, in the order in which they were typed, from the first one on.

        Textual hands a key to the widget with the focus and takes it back later; meanwhile the next key goes its way,
        and where a key opens a question the ones behind it would be lost or out of order.
        """
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded or self.screen is not self.view:
            await super().on_event(event)
        elif self.view.prompt is None:
            self._early.append(event)
        else:
            await self.on_ready()
            if not await self._take(event):
                await super().on_event(event)

    async def on_ready(self) -> None:
        """What was typed before the first screen was there, before anything that was typed later."""
        early, self._early = self._early, []
        for event in early:
            await self.on_event(event)

    async def _take(self, event: events.Key | events.Paste) -> bool:
        """Answers an open question or does what the key stands for; False for a key that means nothing to us."""
        prompt = self.view.prompt if self.view.asking else None
        if isinstance(event, events.Paste):
            if prompt is not None:
                prompt.paste(event.text)
            return prompt is not None
        if event.key == TYPED_AHEAD:
            event = events.Key("enter", "\r")
        if prompt is not None:
            return await prompt.take(event)
        action = ACTIONS.get(event.key)
        return action is not None and await self.run_action(action)

    # -- questions ----------------------------------------------------------------------------------------------------

    def action_ask_step(self) -> None:
        """Asks for a number."""
        hint = f"a step from 0 to {self.cursor.last_step}, or +10, -10, 50%"
        self.view.ask("Step", hint, lambda text: None, self._go_to_step)

    def _go_to_step(self, text: str | None) -> None:
        from dispatchviz.tui.prompt import step_named

        self.view.answered()
        step = None if text is None else step_named(text, self.cursor)
        if step is not None:
            self.on_goto(Goto(step))
        else:
            wrong = f" {text} is no step: write 37, +10, -10 or 50%"
            self.stand(self.cursor, line((wrong, "warning")) if text else None)

    def action_ask_search(self) -> None:
        """Asks for words and goes along while they are typed; Esc comes back."""
        self._origin, self._query = self.cursor, self.search.query
        hint = "words of a step: redispatch, AutogradCUDA, NodeCreated ..."
        self.view.ask("Search", hint, self._look, self._found)
        self._prepare_search()

    def _prepare_search(self) -> None:
        """Gets the texts ready between the keys."""
        if self.search.prepare():
            self.call_later(self._prepare_search)

    def _look(self, text: str) -> None:
        self.search.ask(text)
        found = self._origin.search(self.search.matches) if text.strip() else self._origin
        self.stand(found, self._hit(found))

    def _found(self, text: str | None) -> None:
        self.view.answered()
        if text is None:
            self.search.ask(self._query)
            self.stand(self._origin)
        else:
            keys = f"{key_of('search(True)').first} next  {key_of('search(False)').first} previous"
            self.stand(self.cursor, self._hit(self.cursor, keys))

    def action_search(self, forward: bool) -> None:
        """The next or the previous hit."""
        if not self.search.query.strip():
            asks = key_of("ask_search").first
            self.stand(self.cursor, line((f" Nothing searched for yet: {asks} asks for words", "hint")))
            return
        after = self.cursor.search(self.search.matches, forward)
        wrapped = after.at != self.cursor.at and (after.at < self.cursor.at) == forward
        self.stand(after, self._hit(after, "went round the end" if wrapped else ""))

    def _hit(self, cursor: Cursor, more: str = "") -> Line:
        """Which hit the reader is at; a search finds those that the filter hides, too."""
        hidden = "the filter hides this step" if cursor.hidden and self.search.matches(cursor.at) else ""
        return self.search.note(cursor.at, "  ".join(filter(None, (hidden, more))))

    # -- panes --------------------------------------------------------------------------------------------------------

    def action_pane(self, number: int) -> None:
        """Brings a pane to the screen and gives it the focus; the steps let hidden panes follow again."""
        self.view.select(number)

    def action_zoom(self) -> None:
        self.view.zoom()

    def action_unzoom(self) -> None:
        self.view.zoom(False)

    def action_page(self, direction: int) -> None:
        """A page of the pane that has the focus; in the steps that moves the cursor."""
        pane = self.view.focused
        if isinstance(pane, TitledView) and pane.number != layout.STEPS:
            pane.scroll_rows(pane.top + direction * max(pane.rows_in_sight - 1, 1))
        else:
            self.stand(self.cursor.page(direction * max(self.view.steps.rows_in_sight - 1, 1)))

    # -- texts over the stepper ---------------------------------------------------------------------------------------

    def action_whole(self) -> None:
        """All that there is to say of this step."""
        from dispatchviz.tui.whole_screen import WholeScreen

        self.push_screen(WholeScreen(self.cursor.trace, self.cursor.at, self.view.palette))

    def action_codegen(self) -> None:
        """What the code generators made of the operator that this step is about."""
        from dispatchviz.core.table.pytorch_registrations import pytorch_operators
        from dispatchviz.explain.codegen.operator_at_step import operator_at
        from dispatchviz.tui.codegen_screen import CodegenScreen

        operator = operator_at(self.cursor.trace, self.cursor.at)
        if operator in pytorch_operators():
            self.push_screen(CodegenScreen(operator, self.view.palette))
        elif operator:
            said = f" {operator} is not PyTorch's: nothing was generated for it"
            self.stand(self.cursor, line((said, "hint")))
        else:
            self.stand(self.cursor, line((" No operator runs at this step", "hint")))

    def action_help(self) -> None:
        """The keys, and what the pane with the focus shows."""
        from dispatchviz.tui.help import HelpScreen

        pane = self.view.focused
        self.push_screen(HelpScreen(pane.number if isinstance(pane, TitledView) else layout.STEPS, self.view.palette))

    def action_help_quit(self) -> None:
        self.stand(self.cursor, line((f" {key_of('quit').first} quits", "hint")))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: every action as ``group: what it does``."""
        for key in KEYMAP:
            if key.action != "command_palette":
                yield SystemCommand(f"{key.group}: {key.help}", key.shown, partial(self.run_action, key.action))
        yield SystemCommand("Colours: choose a theme", "", self.action_change_theme)
