"""Showing a trace: the stepper in a terminal that supports it, else plain text: a step's views, or the log."""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.followed_file import FollowedFile
from dispatchviz.foundation.garbage_collection import collector_waits
from dispatchviz.foundation.terminal_output import complain
from dispatchviz.tui.terminal.support import can_run
from dispatchviz.views.keymap import QUITS, Leaving


def show(
    trace: Trace,
    step: int | None = None,
    file: str = "",
    plain: bool = False,
    run_arguments: Sequence[str] | None = None,
    followed: FollowedFile | None = None,
    pager: bool = True,
    leaving: Leaving = QUITS,
) -> None:
    """Open the stepper, at ``step``; where it cannot open, or for ``plain``, prints that step's views, else the log.

    ``file``: the trace's own. ``run_arguments``: what runs the program again, after ``dispatchviz run``; empty if
    nothing does. ``followed``: where more of the trace comes from while it is recorded. ``pager``: a log that is longer
    than the terminal goes through one. ``leaving``: where the key leads that closes the stepper.
    """
    why_not = can_run()
    if why_not is None and not plain:
        with collector_waits():
            from dispatchviz.tui.app import show as open_stepper

        open_stepper(trace, step, file, run_arguments, followed, leaving)
        return
    if why_not and not plain:
        what = "the log" if step is None else "the step as text"
        complain(f"{what} instead of the stepper: {why_not}{HINT if run_arguments is not None else ''}")
    if step is None:
        from dispatchviz.outputs.log.printed_log import print_log

        print_log(trace, pager=pager)
    else:
        from dispatchviz.outputs.step.step_text import print_step

        print_step(trace, step, pager)


HINT = " (--plain prints text, --step N --view NAME prints one view of a step)"
"""What to type, for whoever typed a command."""
