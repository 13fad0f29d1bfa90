"""Files for Perfetto and chrome://tracing."""

from __future__ import annotations

import re

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.compressed import beginning_of
from dispatchviz.outputs.format import Format, Request
from dispatchviz.outputs.without_folders import without_folders
from dispatchviz.outputs.written_files import check_place, write_pieces

BEGINS = re.compile(rb'\{"dispatchviz_trace_events":')
"""The beginning of our files (``trace_json.py``). A profiler's file begins differently."""


def _is_ours(raw: bytes) -> bool:
    return bool(BEGINS.match(beginning_of(raw)))


def _check(path: str, suffix: str) -> None:
    check_place(path, "Perfetto trace from dispatchviz", _is_ours)


def _write(trace: Trace, request: Request) -> str:
    from dispatchviz.outputs.perfetto.trace_json import compressed, perfetto_chunks

    chunks = perfetto_chunks(without_folders(trace))
    write_pieces(request.path, compressed(chunks) if request.suffix == ".json.gz" else chunks)
    return ""


PERFETTO = Format(
    suffixes=(".json", ".json.gz"),
    named="a Perfetto trace",
    help="a timeline for ui.perfetto.dev and chrome://tracing, as torch.profiler writes it",
    docs="docs/how-to/share.md",
    check=_check,
    write=_write,
    binary=(".json.gz",),
    form="perfetto",
)
