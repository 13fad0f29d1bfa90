"""The changes to try at a step, or the reason why there are none. The reader chooses one, and the program runs again
with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Thread
from typing import ClassVar, cast

from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widgets import Input

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.what_if.changed_request import changed_request
from dispatchviz.explain.comparison.what_if.changes import Change
from dispatchviz.explain.comparison.what_if.offered_changes import Offered, matching, not_offered, offered_changes
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.tui.comparison.what_if.changed_process import ChangedProcess
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.terminal.terminal_app import TerminalApp
from dispatchviz.tui.widgets.rows_view import RowsView
from dispatchviz.views.session import OpenStepper, Session, Update
from dispatchviz.views.text.line_fitting import columns
from dispatchviz.views.text.styled_line import Line, line

TITLE = "What if (Enter runs the program with this change, Esc closes)"

PLACEHOLDER = "type to filter, or type a change: dtype bfloat16 x, line 4: skip"


class WhatIfView(RowsView):
    """The rows of the changes, one of them chosen, then a note. While the program runs, a single row."""

    def __init__(
        self, session: Session, offered: Sequence[Offered], palette: Palette, run: Callable[[Change], None]
    ) -> None:
        super().__init__(0, TITLE)
        self.palette, self._run = palette, run
        self._session, self._offered = session, offered
        self._stays = not_offered(session.trace, session.cursor.at)
        self.running: Change | None = None
        self.filter("")

    def filter(self, typed: str) -> None:
        """List the changes that contain the typed words, or the change that is typed."""
        self._listed, why_none = matching(self._session.trace, self._offered, typed)
        self._remark = why_none or self._stays
        self._cells = columns([(f"line {each.change.line}", each.change.command, each.text) for each in self._listed])
        self._chosen = 0
        self.port.count = len(self._listed) + bool(self._remark)
        self.port.scroll(0)
        self.refresh()

    def on_resize(self) -> None:
        self.fit(*self.size)

    def fitted(self) -> None:
        self.reveal(self._chosen, 1)
        self.refresh()

    def row(self, at: int, width: int) -> Line:
        if self.running is not None:
            return line("  ", (f"Running with {self.running.text} ... Esc stops it", "hint"))
        if at == len(self._listed):
            return line("  ", (self._remark, "hint"))
        number, command, text = self._cells[at]
        sign = "▶ " if at == self._chosen else "  "
        return line((sign, "focus"), (f"{number}  ", "dim"), (f"{command}   ", "bold"), (text, "dim"), cut=True)

    def row_base(self, at: int) -> Style:
        chosen = at == self._chosen and at < len(self._listed) and self.running is None
        return self.palette.base + self.palette.highlight if chosen else self.palette.base

    def pointed_at(self, at: int) -> None:
        if self.running is None and at < len(self._listed):
            self._chosen = at
            self.run_chosen()

    def choose(self, direction: int) -> bool:
        if self.running is not None or not self._listed:
            return False
        self._chosen = (self._chosen + direction) % len(self._listed)
        self.reveal(self._chosen, 1)
        self.refresh()
        return True

    def run_chosen(self) -> None:
        """Run the program with the chosen change."""
        if self.running is None and self._listed:
            self._run(self._listed[self._chosen].change)

    def show_running(self, change: Change) -> None:
        """Show one row in place of the list."""
        self.running, self.port.count = change, 1
        self.scroll_rows(0)
        self.refresh()


class WhatIfScreen(ModalScreen[Update | None]):
    """The input line and the list over the stepper. The screen closes with the two runs to open, with a note, or with
    None.
    """

    BINDINGS: ClassVar = [
        Binding("escape", "leave", show=False),
        Binding("down", "choose(1)", show=False),
        Binding("up", "choose(-1)", show=False),
    ]
    DEFAULT_CSS = """
        WhatIfScreen { align: center middle; }
        WhatIfScreen Input, WhatIfScreen Input:focus {
            border: none; height: 1; width: 90%; padding: 0 1; background: $panel;
        }
        WhatIfView { width: 90%; height: 70%; padding: 0 1; }
        """

    def __init__(self, session: Session, offered: Sequence[Offered], palette: Palette) -> None:
        super().__init__()
        self._session, self._view = session, WhatIfView(session, offered, palette, self._begin)
        self._input = Input(placeholder=PLACEHOLDER, select_on_focus=False)
        self._process: ChangedProcess | None = None
        self._ended: Update | None = None
        """The update that arrived while another screen was over this one."""

    def compose(self) -> ComposeResult:
        yield self._input
        yield self._view

    def on_mount(self) -> None:
        self.set_focus(self._input)

    def on_input_changed(self, message: Input.Changed) -> None:
        self._view.filter(message.value)

    def on_input_submitted(self) -> None:
        self._view.run_chosen()

    def action_choose(self, direction: int) -> None:
        """Choose the next or the previous change."""
        self._view.choose(direction)

    def on_unmount(self) -> None:
        if self._process is not None:
            self._process.stop()

    def action_leave(self) -> None:
        """Close without a comparison, or stop the running program."""
        if self._process is None:
            self.dismiss()
        else:
            self._process.stop()
            self._end(self._noted("Stopped", "hint"))

    def _begin(self, change: Change) -> None:
        try:
            self._process = ChangedProcess(self._session.trace, change, self._session.run_arguments)
        except DispatchvizError as error:
            self._end(self._noted(f"What if: {error}", "warning"))
            return
        self._input.disabled = True
        self._view.show_running(change)
        app = cast(TerminalApp[object], self.app)
        Thread(target=self._wait, args=(app, self._process, change), daemon=True).start()

    def _wait(self, app: TerminalApp[object], process: ChangedProcess, change: Change) -> None:
        try:
            trace = process.result()
            update = None if trace is None else compared(self._session, trace, change)
        except DispatchvizError as error:
            update = self._noted(f"What if: {error}", "warning")
        except Exception as error:
            app.from_thread(partial(_fail, error))
            return
        if update is not None:
            app.from_thread(lambda: self._end(update))

    def _end(self, update: Update) -> None:
        if self.app.screen is self:  # for Textual, a screen that is visible behind another one is also current
            self.dismiss(update)
        else:
            self._ended = update

    def on_screen_resume(self) -> None:
        if self._ended is not None:
            self.dismiss(self._ended)

    def _noted(self, text: str, role: str) -> Update:
        return Update(self._session.cursor, line((f" {text}", role)))


def _fail(error: Exception) -> None:
    """Raise an error of a thread in the application, since it is a bug of ours."""
    raise error


def compared(session: Session, trace: Trace, change: Change) -> Update:
    """The update that opens the two runs side by side; a note if they are the same."""
    from dispatchviz.explain.comparison.difference_sentences import Run
    from dispatchviz.explain.comparison.divergences import compare
    from dispatchviz.tui.comparison.two_runs import Side, TwoRuns

    found = compare(session.trace, trace)
    if found.same:
        note = f" With {change.text}, the program does exactly the same"
        return Update(session.cursor, line((note, "hint")))
    plain = Side(
        session.trace.header.program, Run(session.trace, "in the plain run"), session.file, session.run_arguments
    )
    changed = Side(change.text, Run(trace, "in the changed run"))
    two = TwoRuns(found, (plain, changed))

    def opens(open_stepper: OpenStepper) -> None:
        from dispatchviz.tui.comparison.comparison_app import show

        show([two], open_stepper)

    return Update(session.cursor, opens=opens)


def offered(session: Session) -> list[Offered] | Update:
    """The changes to try at the step of the cursor; a note if there are none."""
    if session.followed is not None and not session.followed.over:
        return _no(session, "the program is still running")
    try:
        found = offered_changes(session.trace, session.cursor.at)
        if found:
            changed_request(session.trace, found[0].change, "", session.run_arguments)
    except DispatchvizError as error:
        return _no(session, str(error))
    return found or _no(session, "nothing on this line can be changed")


def _no(session: Session, why: str) -> Update:
    return Update(session.cursor, line((f" What if is not available here: {why}", "hint")))
