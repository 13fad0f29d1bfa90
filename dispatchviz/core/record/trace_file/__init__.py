"""A trace and its files: the value with its header and events, its stored form, writing and reading it.

``.dvtrace`` is an indexed file: lines of JSON in blocks with checksums, and columns with the place and the subjects of
each event, so that opening reads no event. ``.jsonl`` and ``.jsonl.gz`` are the same lines without an index.
``docs/trace-format.md`` describes all of them.

Not here: pictures and screens of a trace (``outputs``, ``tui``), sentences about it (``explain``), writing one while a
program runs (``trace_stream.py``).
"""

from __future__ import annotations

from dispatchviz.core.record.trace_file.event_lines import encode
from dispatchviz.core.record.trace_file.header import FORMAT, Filling, Header, KeptTables, KeyLayout, TraceError
from dispatchviz.core.record.trace_file.reader import looks_like_trace
from dispatchviz.core.record.trace_file.trace import Trace

__all__ = [
    "FORMAT",
    "Filling",
    "Header",
    "KeptTables",
    "KeyLayout",
    "Trace",
    "TraceError",
    "encode",
    "looks_like_trace",
]
