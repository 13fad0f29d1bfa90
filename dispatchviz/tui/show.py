"""Showing a trace: the stepper if the terminal supports it, or else plain text with a step's views or the log."""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.followed_file import FollowedFile
from dispatchviz.foundation.garbage_collection import collect_rarely
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
    """Open the stepper at ``step``. If it cannot open, or if ``plain`` is true, print that step's views, or the log.

    - ``file``: the file of the trace.
    - ``run_arguments``: the arguments of ``dispatchviz run`` that run the program again; empty if nothing does.
    - ``followed``: the source of new events while the trace is recorded.
    - ``pager``: whether a log that is longer than the terminal goes through a pager.
    - ``leaving``: the place that the quit key leads to.
    """
    why_not = can_run()
    if why_not is None and not plain:
        collect_rarely()
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
"""The hint on options, for a reader who typed a command."""
