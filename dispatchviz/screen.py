"""Showing a trace: the stepper in a terminal that supports it, else the log in plain text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.followed_file import FollowedFile
from dispatchviz.garbage_collection import collector_waits
from dispatchviz.terminal_output import complain, print_lines
from dispatchviz.tui.terminal.support import can_run


def show(
    trace: Trace,
    step: int | None = None,
    file: str = "",
    plain: bool = False,
    run_arguments: Sequence[str] | None = None,
    followed: FollowedFile | None = None,
) -> None:
    """Opens the stepper, at ``step``; where it cannot open, or for ``plain``, prints the text log from there.

    ``file``: the trace's own. ``run_arguments``: what runs the program again, after ``dispatchviz run``; empty if
    nothing does. ``followed``: where more of the trace comes from while it is recorded.
    """
    why_not = can_run()
    if why_not is None and not plain:
        with collector_waits():
            from dispatchviz.tui.app import show as open_stepper

        open_stepper(trace, step, file, run_arguments, followed)
        return
    if why_not and not plain and sys.stdout.isatty():
        complain(f"the log instead of the stepper: {why_not}")
    print_log(trace, step or 0)


def print_log(trace: Trace, step: int = 0, output: TextIO | None = None) -> None:
    """Writes the text log, of all steps or from one on, to standard output or to ``output``."""
    from dispatchviz.render.log.text_log import text_log

    print_lines(text_log(trace, step), output)
