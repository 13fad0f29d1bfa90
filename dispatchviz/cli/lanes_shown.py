"""Several processes of one program, shown side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dispatchviz.cli.input_source import load
from dispatchviz.explain.ranks.lanes import Lanes, lanes
from dispatchviz.explain.ranks.member import Member, in_order
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.trace_files import TRACES


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


def lanes_of(files: Sequence[str]) -> Lanes:
    """Load traces and return them side by side."""
    return lanes(in_order([Member(load(file), file) for file in files]))


def show_lanes(files: Sequence[str], plain: bool, pager: bool) -> None:
    """Open the screen with a lane for each process, or print the lanes."""
    from dispatchviz.views.cards.lanes_text import lanes_lines
    from dispatchviz.views.text.console import terminal

    console = terminal()
    console.print(lanes_lines(lanes_of(files), console))
