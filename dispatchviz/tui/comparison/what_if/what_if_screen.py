"""The list of changes that may be tried at a step: choose one, and the program runs again with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Thread
from typing import ClassVar, cast

from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.errors import DispatchvizError
from dispatchviz.explain.comparison.what_if.changes import Change
from dispatchviz.explain.comparison.what_if.offered_changes import Offered, not_offered
from dispatchviz.tui.comparison.what_if.changed_process import ChangedProcess
from dispatchviz.tui.session import Session, Update
from dispatchviz.tui.terminal.terminal_app import TerminalApp
from dispatchviz.tui.text.line_fitting import columns
from dispatchviz.tui.text.palette import Palette
from dispatchviz.tui.text.styled_line import Line, line
from dispatchviz.tui.widgets.rows_view import RowsView

TITLE = "What if (Enter runs the program again so, Esc or q closes)"


class WhatIfView(RowsView):
    """A row per change, one of them chosen, then what is not offered; one row while the program runs."""

    BINDINGS: ClassVar = [
        Binding("down,n,j", "choose(1)", show=False),
        Binding("up,N,k", "choose(-1)", show=False),
        Binding("enter,right,s", "run", show=False),
    ]

    def __init__(
        self, offered: Sequence[Offered], remark: str, palette: Palette, run: Callable[[Change], None]
    ) -> None:
        super().__init__(0, TITLE)
        self.palette, self._offered, self._remark, self._run = palette, offered, remark, run
        self._cells = columns([(f"line {each.change.line}", each.change.command, each.text) for each in offered])
        self._chosen = 0
        self.running: Change | None = None
        self.port.count = len(offered) + bool(remark)

    def on_resize(self) -> None:
        self.fit(*self.size)

    def fitted(self) -> None:
        self.reveal(self._chosen, 1)
        self.refresh()

    def row(self, at: int, width: int) -> Line:
        if self.running is not None:
            return line("  ", (f"Running with {self.running.text} ... Esc stops it", "hint"))
        if at == len(self._offered):
            return line("  ", (self._remark, "hint"))
        number, command, text = self._cells[at]
        sign = "▶ " if at == self._chosen else "  "
        return line((sign, "focus"), (f"{number}  ", "dim"), (f"{command}   ", "bold"), (text, "dim"), cut=True)

    def row_base(self, at: int) -> Style:
        chosen = at == self._chosen and self.running is None
        return self.palette.base + self.palette.highlight if chosen else self.palette.base

    def pointed_at(self, at: int) -> None:
        if self.running is None and at < len(self._offered):
            self._chosen = at
            self.action_run()

    def action_choose(self, by: int) -> None:
        if self.running is None:
            self._chosen = (self._chosen + by) % len(self._offered)
            self.reveal(self._chosen, 1)
            self.refresh()

    def action_run(self) -> None:
        if self.running is None:
            self._run(self._offered[self._chosen].change)

    def show_running(self, change: Change) -> None:
        """One row, in place of the list."""
        self.running, self.port.count = change, 1
        self.scroll_rows(0)
        self.refresh()


class WhatIfScreen(ModalScreen[Update | None]):
    """The list over the stepper; closes with what opens the two runs, with a remark, or with None."""

    BINDINGS: ClassVar = [Binding("escape,q,backspace,W", "leave", show=False)]
    DEFAULT_CSS = "WhatIfScreen { align: center middle; } WhatIfView { width: 90%; height: 70%; padding: 0 1; }"

    def __init__(self, session: Session, offered: Sequence[Offered], palette: Palette) -> None:
        super().__init__()
        self._session, self._view = session, WhatIfView(offered, _remark(session), palette, self._begin)
        self._process: ChangedProcess | None = None
        self._ended: Update | None = None
        """What came while another screen was over this one."""

    def compose(self) -> ComposeResult:
        yield self._view

    def on_unmount(self) -> None:
        if self._process is not None:
            self._process.stop()

    def action_leave(self) -> None:
        """Without a comparison; a program that runs is stopped."""
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
        if self.app.screen is self:  # Textual calls a screen current that is seen behind another one, too
            self.dismiss(update)
        else:
            self._ended = update

    def on_screen_resume(self) -> None:
        if self._ended is not None:
            self.dismiss(self._ended)

    def _noted(self, text: str, role: str) -> Update:
        return Update(self._session.cursor, line((f" {text}", role)))


def _remark(session: Session) -> str:
    return not_offered(session.trace, session.cursor.at)


def _fail(error: Exception) -> None:
    """A mistake of ours in a thread is one of the application."""
    raise error


def compared(session: Session, trace: Trace, change: Change) -> Update:
    """What opens the two runs side by side; if they are the same, a remark."""
    from dispatchviz.explain.comparison.difference_sentences import Run
    from dispatchviz.explain.comparison.divergences import compare
    from dispatchviz.tui.comparison.two_runs import Side, TwoRuns

    found = compare(session.trace, trace)
    if found.same:
        note = f" With {change.text} the program does exactly the same"
        return Update(session.cursor, line((note, "hint")))
    plain = Side(
        session.trace.header.program, Run(session.trace, "in the plain run"), session.file, session.run_arguments
    )
    changed = Side(change.text, Run(trace, "in the changed run"))
    two = TwoRuns(found, (plain, changed))

    def opens() -> None:
        from dispatchviz.tui.comparison.comparison_app import show

        show([two])

    return Update(session.cursor, opens=opens)
