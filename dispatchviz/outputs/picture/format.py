"""Pictures: the backward graph, or another one that was requested."""

from __future__ import annotations

import re

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.outputs.format import Format, Request
from dispatchviz.outputs.without_folders import without_folders
from dispatchviz.outputs.written_files import check_place, write_bytes

BEGINS = {
    ".svg": re.compile(rb"(\s*<[?!][^\0]*?)?\s*<svg\b"),
    ".dot": re.compile(rb"\s*(strict\s+)?(di)?graph\b"),
    ".png": re.compile(rb"\x89PNG"),
    ".pdf": re.compile(rb"%PDF-"),
}
"""The beginning of a picture in each form."""

PICTURES = tuple(BEGINS)

LONG = 10_000
"""The number of steps from which on the columns of a trace are read into memory."""


def check_picture(path: str, suffix: str) -> None:
    """Raise DispatchvizError if a picture cannot be written there, or if it would replace another kind of file."""
    check_place(path, f"{suffix} picture", BEGINS[suffix].match)


def _quickly_read(trace: Trace) -> Trace:
    """Return the trace with its columns in memory if it is long: a graph reads nearly all entries, many of them often.

    The columns of a short trace are in one piece anyway.
    """
    if len(trace) < LONG:
        return trace
    from dispatchviz.core.record.trace_file.joined_columns import in_memory

    return Trace(trace.header, trace.events, trace.notice, in_memory(trace.columns))


def _write(trace: Trace, request: Request) -> str:
    from dispatchviz.outputs.picture.chosen_picture import Chosen, chosen_picture

    drawn = chosen_picture(_quickly_read(without_folders(trace)), request.suffix, request.chosen or Chosen())
    write_bytes(request.path, drawn.data)
    more = "--expand RANGE, such as 3-7, draws the Nodes with these sequence numbers one by one, --no-fold all Nodes"
    return f"{drawn.note}; {more}" if drawn.is_folded else drawn.note


PICTURE = Format(
    suffixes=PICTURES,
    named="a picture",
    help="a picture: the backward graph, or another with --picture",
    docs="docs/how-to/share.md",
    check=check_picture,
    write=_write,
    options=frozenset({"--picture", "--step", "--steps", "--detail", "--cluster", "--theme", "--dark"}),
    binary=(".png", ".pdf"),
)
