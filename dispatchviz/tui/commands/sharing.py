"""Sharing a step: a command line that opens it, the backward graph as a picture."""

from __future__ import annotations

import shlex

from dispatchviz.core.record.events import NodeCreated
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.panes.next_event import steps_of
from dispatchviz.tui.session import Session, Update
from dispatchviz.tui.text.styled_line import Line, line


def copy_link(session: Session) -> Update:
    """A command line for the clipboard."""
    command = link(session)
    if not command:
        reason = " No command line shows it again: it came from standard input. --save keeps a trace"
        return Update(session.cursor, line((reason, "hint")))
    return Update(session.cursor, line((" Copied: ", "hint"), command), clipboard=command)


def link(session: Session) -> str:
    """The command line that opens the stepper at this step; empty where none does."""
    step = f"--step {session.cursor.at}"
    if session.file:
        return f"dispatchviz open {step} {shlex.quote(session.file)}"
    return f"dispatchviz run {step} {shlex.join(session.run_arguments)}" if session.run_arguments else ""


def open_picture(session: Session) -> Update:
    """The backward graph in the browser. Drawing takes a moment, so a note comes first."""
    if (missing := no_graph(session.trace, session.cursor.at)) is not None:
        return Update(session.cursor, missing)
    return Update(session.cursor, line((" Drawing the backward graph ...", "hint")), then=lambda: _drawn(session))


def _drawn(session: Session) -> Update:
    from dispatchviz.render.graph.svg import RenderError
    from dispatchviz.tui.commands import browser

    try:
        path = browser.picture_file(session.trace, session.cursor.at)
    except RenderError as error:
        return Update(session.cursor, line((f" No picture: {error}", "warning")))
    opened = browser.open_picture(path)
    text = " Opened in the browser: " if opened else " No browser here. The picture is in "
    return Update(session.cursor, line((text, "hint"), str(path)))


def no_graph(trace: Trace, at: int) -> Line | None:
    """Why there is no picture at a step, and from which one on there is; None if there is one."""
    steps = steps_of(trace, NodeCreated)
    if not steps:
        return line((" No backward graph: nothing in this program recorded one", "hint"))
    return line((f" No backward graph yet: it starts at step {steps[0]}", "hint")) if at < steps[0] else None
