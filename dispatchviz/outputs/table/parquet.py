"""Traces as a Parquet file, by the extra ``parquet``: one row for each event, for DuckDB, Spark, Ray Data, pandas.

It is written one row group at a time, so that a long trace needs no more memory than a short one. Not here: the
contents of the columns (``event_rows.py``), example queries (``many-traces.md``).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dispatchviz.core.record.trace_file import FORMAT, Header, Trace, encode
from dispatchviz.core.record.trace_file.writers import lines_of
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.table.event_rows import EventRows, Rows, Texts

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT_KEY, TRACES_KEY = "dispatchviz.format", "dispatchviz.traces"
"""Keys of the file's metadata: the version of the format, and the runs with their headers, without the program's
text.
"""

ROW_GROUP = 1 << 16
"""The smallest number of rows in a row group. A query reads several groups at a time."""

TEXTS = ("run", "kind", "file", "function", "operator", "key")
"""Columns whose texts repeat, which are stored as numbers and a dictionary."""


class Run(Struct, frozen=True):
    """One of the traces in a table."""

    name: str
    trace: Trace
    source: str
    """The name of the trace in errors."""


def check_parquet() -> None:
    """Raise DispatchvizError if the extra is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise DispatchvizError(
            "Parquet needs the extra `parquet`: pip install 'dispatchviz[parquet]', or write .jsonl"
        ) from None


def is_ours(file: BinaryIO) -> bool:
    """Return whether an open file is a Parquet file that was written here. Its last bytes decide, without the
    library.
    """
    size = file.seek(0, io.SEEK_END)
    file.seek(max(size - 8, 0))
    length, magic = file.read(4), file.read(4)
    if magic != b"PAR1":
        return False
    file.seek(max(size - 8 - int.from_bytes(length, "little"), 0))
    return FORMAT_KEY.encode() in file.read()


def write(runs: Iterable[Run], stream: BinaryIO) -> None:
    """Write the table of some traces, one after the other.

    Raise DispatchvizError if the extra is not installed or if rows of two traces would have the same identity, and
    OSError.
    """
    check_parquet()
    import pyarrow.parquet as pq

    schema, headers = _schema(), dict[tuple[str, int], Header]()
    with (
        io.BufferedWriter(_Kept(stream), 1 << 20) as sink,  # closed while the stream is open, after an error too
        pq.ParquetWriter(
            sink,
            schema,
            compression="zstd",
            use_dictionary=list(TEXTS),
            write_statistics=[name for name in schema.names if name != "event"],
            store_schema=False,  # readers get plain texts, however they are stored
        ) as writer,
    ):
        table = None
        for table in _row_groups(_tables(_distinct(runs, headers), schema)):
            writer.write_table(table, row_group_size=len(table))
        if table is None:
            writer.write_table(schema.empty_table())  # pyarrow 18 cannot read a file of no row groups
        described = [{"run": name, "header": header} for (name, _), header in headers.items()]
        writer.add_key_value_metadata({FORMAT_KEY: str(FORMAT), TRACES_KEY: encode(described).decode()})


def _distinct(runs: Iterable[Run], headers: dict[tuple[str, int], Header]) -> Iterator[Run]:
    """Yield the runs, and put their headers without the program's text into ``headers``. Raise DispatchvizError if two
    runs are the same.
    """
    sources = dict[tuple[str, int], str]()
    for run in runs:
        header = run.trace.header
        place = run.name, header.rank
        if place in headers:
            raise DispatchvizError(
                f"{sources[place]} and {run.source} are both rank {header.rank} of run {run.name}: "
                "rename one of them, or export it alone with another --run"
            )
        headers[place], sources[place] = msgspec.structs.replace(header, sources={}), run.source
        yield run


class _Kept(io.RawIOBase):
    """A stream that stays open when its writer is closed."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int | None:
        return self._stream.write(data)


def _schema() -> pa.Schema:
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.string())
    numbers = ("rank", "seq", "parent", "depth", "end", "source_line", "line", "node", "tensor")
    order = (
        "run", "rank", "seq", "kind", "parent", "depth", "end", "source_line", "file", "line", "function",
        "operator", "key", "node", "tensor", "event",
    )  # fmt: skip
    types = {
        **dict.fromkeys(TEXTS, text),
        **dict.fromkeys(numbers, pa.int32()),
        "rank": pa.int64(),
        "event": pa.string(),
    }
    given = ("run", "rank", "seq", "kind", "depth", "end", "event")
    fields = [pa.field(name, types[name], nullable=name not in given) for name in order]
    return pa.schema(fields)


def _row_groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the same rows in tables of the size of a row group. The last table may be smaller."""
    import pyarrow as pa

    waiting, count = list[pa.Table](), 0
    for table in tables:
        waiting.append(table)
        count += len(table)
        if count >= ROW_GROUP:
            yield pa.concat_tables(waiting).unify_dictionaries()
            waiting, count = [], 0
    if waiting:
        yield pa.concat_tables(waiting).unify_dictionaries()


def _tables(runs: Iterable[Run], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows of traces, in tables of one trace, no larger than a row group."""
    for run in runs:
        rows, first, lines, count = EventRows(run.trace), 0, list[bytes](), 0
        for some, raw in lines_of(run.trace.events):
            lines.append(raw)
            count += some
            if count >= ROW_GROUP:
                yield _table(run, rows.rows(first, first + count), lines, schema)
                rows.let_go()
                first, lines, count = first + count, [], 0
        if count:
            yield _table(run, rows.rows(first, first + count), lines, schema)


def _table(run: Run, rows: Rows, lines: list[bytes], schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    count = len(rows.parents)
    columns = {
        "run": _texts(Texts(np.zeros(count, np.int32), [run.name])),
        "rank": pa.array(np.full(count, run.trace.header.rank, np.int64)),
        "seq": pa.array(np.arange(rows.first, rows.first + count, dtype=np.int32)),
        "kind": _texts(rows.kinds),
        "parent": _numbers(rows.parents),
        "depth": pa.array(rows.depths),
        "end": pa.array(rows.ends),
        "source_line": _numbers(rows.source_lines),
        "file": _texts(rows.files),
        "line": _numbers(rows.lines),
        "function": _texts(rows.functions),
        "operator": _texts(rows.operators),
        "key": _texts(rows.keys),
        "node": _numbers(rows.nodes),
        "tensor": _numbers(rows.tensors),
        "event": _strings(b"".join(lines), count),
    }
    return pa.table(columns, schema)


def _numbers(numbers: NDArray[np.int32]) -> pa.Array:
    import pyarrow as pa

    return pa.array(numbers, mask=numbers < 0)


def _texts(texts: Texts) -> pa.Array:
    import pyarrow as pa

    values = [text.encode("utf-8", "backslashreplace").decode() for text in texts.values]
    return pa.DictionaryArray.from_arrays(_numbers(texts.numbers), pa.array(values, pa.string()))


def _strings(raw: bytes, count: int) -> pa.Array:
    """Return the lines of a text as an array, without making a Python string for each."""
    import pyarrow as pa

    characters = np.frombuffer(raw, np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    offsets = np.concatenate(([0], ends - np.arange(len(ends)))).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(characters[characters != ord("\n")])]
    return pa.Array.from_buffers(pa.string(), count, buffers)
