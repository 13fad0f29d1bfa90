"""The page within the output of a notebook's cell: it goes on stepping in a saved notebook, without a kernel."""

from __future__ import annotations

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.outputs.cell.html import player_frame
from dispatchviz.outputs.page.player_page import player_page
from dispatchviz.outputs.without_folders import without_folders

MOST_STEPS = 1000
"""A longer trace is shown without its page, which takes seconds to make, and would make the notebook big."""


def notebook_player(trace: Trace) -> str:
    """The page in a frame; empty of a trace without steps, and of a long one."""
    if not 0 < len(trace) <= MOST_STEPS:
        return ""
    trace = without_folders(trace)
    return player_frame(player_page(trace).decode(), title=f"The steps of {trace.header.program}")
