"""Several processes of one program, shown side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dispatchviz.cli.input_source import load
from dispatchviz.explain.comparison.ranks.lanes import Lanes, lanes
from dispatchviz.explain.comparison.ranks.member import Member, in_order
from dispatchviz.explain.comparison.ranks.mismatches import mismatches
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.garbage_collection import collect_rarely
from dispatchviz.foundation.terminal_output import complain
from dispatchviz.outputs.trace_files import TRACES
from dispatchviz.running.program_source import Script
from dispatchviz.tui.terminal.support import can_run


def traces_in(names: Sequence[str]) -> list[str]:
    """Return the traces among files and folders. Raise DispatchvizError for a folder without any."""
    found = list[str]()
    for name in names:
        if not os.path.isdir(name):
            found.append(name)
            continue
        files = [str(file) for file in sorted(Path(name).iterdir()) if file.name.lower().endswith(TRACES)]
        if not files:
            raise DispatchvizError(f"there is no trace in {name}: record one with dispatchviz run --ranks --save FILE")
        found += files
    return found


def traces_of(source: Script, arguments: Sequence[str]) -> list[str] | None:
    """Return the traces if the source is a folder of traces, or the first of several traces; else None."""
    if not isinstance(source, str):
        return None
    if os.path.isdir(source):
        return traces_in([source, *arguments])
    several = [source, *arguments]
    return several if arguments and all(name.lower().endswith(TRACES) for name in several) else None


def lanes_of(files: Sequence[str]) -> Lanes:
    """Load traces and return them side by side."""
    found = lanes(in_order([Member(load(file), file) for file in files]))
    if found.several_runs:
        complain("the traces are of different runs, so their collectives may not belong together")
    return found


def show_lanes(files: Sequence[str], plain: bool, pager: bool) -> None:
    """Open the screen with a lane for each process. If it cannot open, or if ``plain`` is true, print the lanes."""
    why_not = can_run()
    if why_not is None and not plain:
        collect_rarely()
        from dispatchviz.tui.app import show as open_stepper
        from dispatchviz.tui.lanes.lanes_app import show as open_screen

        open_screen(lanes_of(files), open_stepper)
        return
    from dispatchviz.views.cards.lanes_text import lanes_lines
    from dispatchviz.views.text.console import terminal

    console = terminal()
    console.print(lanes_lines(lanes_of(files), console))


def tell_ranks(files: Sequence[str]) -> int:
    """Print which rank does not call the collectives that others call, then the mistakes of each process. Return 1 if
    a rank does not, or if a process raised.
    """
    from dispatchviz.explain.diagnosis.diagnose import diagnoses
    from dispatchviz.foundation.shown_text import quoted
    from dispatchviz.views.cards.diagnosis_text import diagnosis_lines
    from dispatchviz.views.cards.lanes_text import why_lines
    from dispatchviz.views.text.console import terminal

    console, members = terminal(), in_order([Member(load(file), file) for file in files])
    console.print(why_lines(members, console))
    failed = any(mismatches(members))
    for member in members:
        found = diagnoses(member.trace)
        failed = failed or any(each.rank == "error" for each in found)
        if found:
            console.print(["", console.heading(member.name)])
            console.print(diagnosis_lines(member.trace, found, quoted(member.file), console))
    return int(failed)
