"""Tables of events, as Parquet."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.outputs.format import Format, Request
from dispatchviz.outputs.trace_files import TRACES
from dispatchviz.outputs.without_folders import without_folders
from dispatchviz.outputs.written_files import STANDARD_OUTPUT, check_place, reading, stream_to, taken, write_bytes

if TYPE_CHECKING:
    from dispatchviz.outputs.table.parquet import Run


def check_table(path: str, suffix: str = "") -> None:
    """Raise DispatchvizError if a table cannot be written there, or if it would replace a file that is not ours."""
    from dispatchviz.outputs.table.parquet import check_parquet, is_ours

    check_parquet()
    check_place(path, "table of traces")
    if not os.path.isfile(path):
        return
    with reading(path), open(path, "rb") as stream:
        if stream.read(1) and not is_ours(stream):
            raise taken(path, "table of traces")


def export_table(runs: Iterable[Run], path: str | Path) -> None:
    """Write some traces as one table; ``-`` is standard output. Raise DispatchvizError if that fails."""
    from dispatchviz.outputs.table.parquet import write

    runs = (replace(run, trace=without_folders(run.trace)) for run in runs)
    if str(path) == STANDARD_OUTPUT:
        data = io.BytesIO()
        write(runs, data)
        write_bytes(path, data.getvalue())
        return
    with stream_to(path) as stream:
        write(runs, stream)


def run_name(source: str | Path) -> str:
    """Return the name of a run in a table: the name of the program's or trace's file without its suffix."""
    name = Path(source).name
    suffix = next((each for each in TRACES if name.lower().endswith(each)), "")
    return name[: -len(suffix)] if suffix else Path(name).stem


def _write(trace: Trace, request: Request) -> str:
    from dispatchviz.outputs.table.parquet import Run

    run = request.run or run_name(trace.header.program if request.source == "-" else request.source)
    export_table([Run(run, trace, request.source)], request.path)
    return ""


TABLE = Format(
    suffixes=(".parquet",),
    named="a table",
    help="a table of the trace's events, or of several TRACEs",
    docs="docs/how-to/many-traces.md",
    check=check_table,
    write=_write,
    options=frozenset({"--run"}),
    binary=(".parquet",),
)
