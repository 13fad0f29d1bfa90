"""A trace as one HTML page with steps."""

from __future__ import annotations

import re

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.outputs.format import Format, Request
from dispatchviz.outputs.without_folders import without_folders
from dispatchviz.outputs.written_files import check_place, write_bytes

BEGINS = re.compile(rb'<meta name="generator" content="dispatchviz player">')
"""The text in the first bytes of each of our pages."""


def check_page(path: str, suffix: str = "") -> None:
    """Raise DispatchvizError if a page cannot be written there, or if it would replace a file that is not ours."""
    check_place(path, "page from dispatchviz", BEGINS.search)


def _write(trace: Trace, request: Request) -> str:
    from dispatchviz.outputs.page.player_page import player_page

    write_bytes(request.path, player_page(without_folders(trace)))
    return ""


PAGE = Format(
    suffixes=(".html",),
    named="an interactive page",
    help="an interactive page that steps through the trace, in any browser, without a network",
    docs="docs/how-to/html-player.md",
    check=check_page,
    write=_write,
)
