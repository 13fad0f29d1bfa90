"""The two runs of ``diff`` side by side on a screen, each with the command that opens it again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

from dispatchviz.cli.compared_engine import Machine
from dispatchviz.cli.input_source import STANDARD_INPUT
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.difference_sentences import Run
from dispatchviz.explain.comparison.divergences import Comparison
from dispatchviz.explain.comparison.seen_by_both import SeenByBoth
from dispatchviz.foundation.garbage_collection import collect_rarely
from dispatchviz.tui.comparison.two_runs import Side, TwoRuns


def side(source: str, run: Run, is_trace: bool, machine: Machine, args: Sequence[str]) -> Side:
    """Return the side for the run of a script, or for a saved trace."""
    if is_trace:
        return Side(source, run, file="" if source == STANDARD_INPUT else source)
    again = () if source == STANDARD_INPUT else ("--hashes", *machine.typed, source, *args)
    return Side("standard input" if source == STANDARD_INPUT else source, run, run_arguments=again)


def opening(side: Side, whole: Trace) -> Side:
    """Return a side whose run is compared only in part, so that the stepper opens all of it."""
    assert isinstance(side.run.trace, SeenByBoth)
    return replace(side, whole=whole, steps=side.run.trace.steps)


def changed(run: Run, title: str) -> Side:
    """Return the side for the run of a changed program, which no file contains."""
    return Side(title, run)


def two(found: Comparison, sides: Sequence[Side], words: Sequence[str], machine: Machine, name: str = "") -> TwoRuns:
    """Return a comparison for the screen. ``words`` follow ``dispatchviz diff`` in the command that repeats it; empty
    if no command can.
    """
    command = f"dispatchviz diff {shlex.join([*machine.typed, *words])}" if words else ""
    return TwoRuns(found, (sides[0], sides[1]), name, command)


def show(choices: Sequence[TwoRuns]) -> None:
    """Open the screen until its reader goes back."""
    collect_rarely()
    from dispatchviz.tui.app import show as open_stepper
    from dispatchviz.tui.comparison.comparison_app import show as open_screen

    open_screen(choices, open_stepper)
