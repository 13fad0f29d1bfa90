"""The page in the output of a notebook cell. It can be stepped through in a saved notebook, without a kernel."""

from __future__ import annotations

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.outputs.cell.html import player_frame
from dispatchviz.outputs.page.player_page import player_page
from dispatchviz.outputs.without_folders import without_folders

MOST_STEPS = 1000
"""The number of steps above which a trace is shown without its page. The page would take seconds to make and would make
the notebook big.
"""


def notebook_player(trace: Trace) -> str:
    """Return the page in a frame; empty for a trace without steps and for a long one."""
    if not 0 < len(trace) <= MOST_STEPS:
        return ""
    trace = without_folders(trace)
    return player_frame(player_page(trace).decode(), title=f"The steps of {trace.header.program}")
