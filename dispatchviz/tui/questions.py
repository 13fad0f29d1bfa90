"""Actions that ask something or tell somebody: marks, breakpoints, the filter, the link, the picture.

Not here: moves, search, panes (``app.py``), which keys start them (``keymap.py``).
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.app import App

from dispatchviz.core.record.events import NodeCreated
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.breakpoints import breakpoint_named, refusal
from dispatchviz.tui.keymap import key_of
from dispatchviz.tui.text import Line, line
from dispatchviz.tui.upcoming import steps_of

if TYPE_CHECKING:
    from dispatchviz.tui.cursor import Cursor
    from dispatchviz.tui.marks import Marks
    from dispatchviz.tui.search import Search
    from dispatchviz.tui.view import StepperScreen


class Questions(App[None]):
    """Part of the stepper's application."""

    cursor: Cursor
    view: StepperScreen
    search: Search
    marks: Marks
    file: str
    again: Sequence[str]

    def stand(self, cursor: Cursor, note: Line | None = None) -> None:
        """Moves the reader, and says ``note`` about it."""
        raise NotImplementedError

    # -- marks --------------------------------------------------------------------------------------------------------

    def action_toggle_mark(self) -> None:
        """Sets a mark and asks for its name, or removes it."""
        if self.cursor.at in self.cursor.marks:
            wrong = self.marks.remove(self.cursor.at)
            self.stand(self.cursor.toggle_mark(), said(" No longer marked", wrong))
            return
        self.stand(self.cursor.toggle_mark())
        self.marks.set(self.cursor.at, "")
        self.view.ask("Name", "of this mark, or just Enter", lambda text: None, self._named)

    def _named(self, name: str | None) -> None:
        self.view.answered()
        wrong = self.marks.set(self.cursor.at, (name or "").strip())
        stops = " and ".join(key_of(f"move('{move}')").first for move in ("resume", "resume_back"))
        listed = key_of("marks").first
        self.stand(self.cursor, said(f" Marked: {stops} stop at this step, {listed} lists all marks", wrong))

    def action_marks(self) -> None:
        """The list of marks."""
        if not self.marks.names:
            self.stand(self.cursor, line((f" No marks yet: {key_of('toggle_mark').first} sets one here", "hint")))
            return
        from dispatchviz.tui.marks_screen import MarksScreen

        screen = MarksScreen(self.cursor.trace, self.marks.names, self.cursor.at, self.view.palette)
        self.push_screen(screen, self._chosen)

    def _chosen(self, step: int | None) -> None:
        if step is not None:
            name = self.marks.names.get(step, "")
            self.stand(self.cursor.goto(step), line((f" Mark {name}".rstrip(), "hint")))

    # -- breakpoints --------------------------------------------------------------------------------------------------

    def action_ask_breakpoint(self) -> None:
        """Sets a breakpoint, or takes away the one of that name; nothing takes all away."""
        hint = "37, NodeCreated, add or AutogradCPU; again: off; nothing: all off"
        now = self.cursor.breakpoints
        note = line((_breakpoints(now), "hint")) if now else None
        self.view.ask("Stop at", hint, lambda text: None, self._break, note)

    def _break(self, text: str | None) -> None:
        self.view.answered()
        if text is None:
            self.stand(self.cursor)
            return
        if not text.strip():
            self.stand(replace(self.cursor, breakpoints=()), line((" No breakpoints", "hint")))
            return
        found = breakpoint_named(text, self.cursor.trace)
        if found is None:
            self.stand(self.cursor, line((f" {refusal(text, self.cursor.trace)}", "warning")))
            return
        others = tuple(each for each in self.cursor.breakpoints if each != found)
        now = others if found in self.cursor.breakpoints else (*others, found)
        self.stand(replace(self.cursor, breakpoints=now), line((_breakpoints(now), "hint")))

    # -- filter -------------------------------------------------------------------------------------------------------

    def action_ask_filter(self) -> None:
        """Shows only some steps; nothing shows all again."""
        hint = "words of the steps to show; nothing: all steps"
        self.view.ask("Show only", hint, lambda text: None, self._show_only)

    def _show_only(self, text: str | None) -> None:
        self.view.answered()
        if text is None:
            self.stand(self.cursor)
            return
        hits = self.search.hits(text)
        if text.strip() and not hits:
            stays = "all steps stay" if self.cursor.shown is None else f"the filter stays {self.cursor.words}"
            self.stand(self.cursor, line((f" No step has {text}: {stays}", "warning")))
            return
        key = key_of("ask_filter").first
        note = f" {len(hits)} steps with {text}; {key} and Enter show all again" if hits else " All steps"
        self.stand(self.cursor.filtered(hits or None, text.strip()), line((note, "hint")))

    # -- sharing ------------------------------------------------------------------------------------------------------

    def action_copy_link(self) -> None:
        """A command line for the clipboard."""
        link = self.link()
        if not link:
            told = " No command line shows it again: it came from standard input. --save keeps a trace"
            self.stand(self.cursor, line((told, "hint")))
            return
        self.copy_to_clipboard(link)
        self.stand(self.cursor, line((" Copied: ", "hint"), link))

    def link(self) -> str:
        """Opens the stepper at this step; empty where no command line does."""
        step = f"--step {self.cursor.at}"
        if self.file:
            return f"dispatchviz open {step} {shlex.quote(self.file)}"
        return f"dispatchviz run {step} {shlex.join(self.again)}" if self.again else ""

    def action_open_picture(self) -> None:
        """The backward graph in the browser. Drawing takes a moment, so the reader is told first."""
        if (missing := no_graph(self.cursor.trace, self.cursor.at)) is not None:
            self.stand(self.cursor, missing)
            return
        self.stand(self.cursor, line((" Drawing the backward graph ...", "hint")))
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        from dispatchviz.render.svg import RenderError
        from dispatchviz.tui.browser import open_picture, picture_file

        try:
            path = picture_file(self.cursor.trace, self.cursor.at)
        except RenderError as error:
            self.stand(self.cursor, line((f" No picture: {error}", "warning")))
            return
        shown = " Opened in the browser: " if open_picture(path) else " No browser here. The picture is in "
        self.stand(self.cursor, line((shown, "hint"), str(path)))


def no_graph(trace: Trace, at: int) -> Line | None:
    """Why there is no picture at a step, and from which one on there is; None if there is one."""
    steps = steps_of(trace, NodeCreated)
    if not steps:
        return line((" No backward graph: nothing in this program recorded one", "hint"))
    return line((f" No backward graph yet: it starts at step {steps[0]}", "hint")) if at < steps[0] else None


def said(text: str, wrong: str) -> Line:
    """A note, and what went wrong."""
    return line((text, "hint"), (f"  ({wrong})" if wrong else "", "warning"))


def _breakpoints(now: tuple[object, ...]) -> str:
    if not now:
        return " No breakpoints"
    resume = key_of("move('resume')").first
    return f" {resume} stops at {', '.join(map(str, now))}"
