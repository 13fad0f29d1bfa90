"""Showing a trace to whoever is there: the stepper in a terminal that can carry it, else the log in plain text."""

from __future__ import annotations

from typing import TextIO

from dispatchviz.core.trace import Trace
from dispatchviz.tui.terminal import can_run


def show(trace: Trace, step: int | None = None, file: str = "") -> None:
    """Opens the stepper, at ``step`` if given; where it cannot open prints the text log. ``file``: the trace's own."""
    if can_run() is None:
        from dispatchviz.tui.app import show as open_stepper

        open_stepper(trace, step, file)
    else:
        print_log(trace)


def print_log(trace: Trace, output: TextIO | None = None) -> None:
    """Writes the text log, to standard output unless told otherwise."""
    from dispatchviz.render.text import text_log

    for line in text_log(trace):
        print(line, file=output)
