"""Sharing a step: the command that opens it, the backward graph as a picture."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from dispatchviz.core.record.events import NodeCreated
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.shown_text import quoted
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import Line, line


def copy_link(session: Session) -> Update:
    """Copy the command that opens this step."""
    command = link(session)
    if not command:
        reason = (
            " No command reopens this run: it came from standard input, or it is a changed run. Use --save to keep a "
            "trace"
        )
        return Update(session.cursor, line((reason, "hint")))
    return Update(session.cursor, line((" Copied: ", "hint"), command), clipboard=command)


def link(session: Session) -> str:
    """The command that opens the stepper at this step; empty if there is none."""
    step = f"--step {session.cursor.at}"
    if session.file:
        return f"dispatchviz open {step} {quoted(session.file)}"
    return f"dispatchviz run {step} {' '.join(map(quoted, session.run_arguments))}" if session.run_arguments else ""


def open_picture(session: Session) -> Update:
    """Open the backward graph in the browser. It is drawn in the background."""
    if (missing := no_graph(session.trace, session.cursor.at)) is not None:
        return Update(session.cursor, missing)
    if session.is_drawing:
        return Update(session.cursor, line((" Still drawing the backward graph ...", "hint")))
    session.is_drawing = True
    at = session.cursor.at
    note = line((" Drawing the backward graph ... You can keep working", "hint"))
    return Update(session.cursor, note, later=lambda: _drawn(session, at))


def _drawn(session: Session, at: int) -> Line:
    try:
        path, note = picture_file(session.trace, at)
    except (DispatchvizError, OSError) as error:
        return line((f" The picture was not drawn: {error}", "warning"))
    finally:
        session.is_drawing = False
    opened = open_in_browser(path)
    text = " Opened in the browser: " if opened else " No browser found. The picture is in "
    return line((text, "hint"), str(path), (f". {note}" if note else "", "hint"))


def no_graph(trace: Trace, at: int) -> Line | None:
    """The note on why there is no graph at a step, with the first step that has one; None if there is a graph."""
    steps = trace.steps_of(NodeCreated)
    if not steps:
        return line((" No backward graph: this program records no Node", "hint"))
    return line((f" No backward graph yet: it starts at step {steps[0]}", "hint")) if at < steps[0] else None


def picture_file(trace: Trace, at: int) -> tuple[Path, str]:
    """Draw the backward graph at a step as an SVG file. Return its path and a note on it.

    If the graph is folded, the iteration with the step's Node is drawn in full. Raise RenderError if there is no graph.
    """
    from dispatchviz.explain.graph.selected_nodes import selector  # needed only with the key
    from dispatchviz.outputs.picture.graph_picture import backward_graph

    path = Path(tempfile.mkdtemp(prefix="dispatchviz-")) / "backward_graph.svg"
    graph = backward_graph(trace, at, None)
    here = None if graph.highlight is None else graph[graph.highlight]
    return path, graph.render(path, expand=[] if here is None else [selector(here)])


def open_in_browser(path: Path) -> bool:
    """Open a file in the browser. Return False if there is no browser, or only one that would take over the
    terminal.
    """
    import webbrowser

    graphical = sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(graphical) and webbrowser.open(path.as_uri())
