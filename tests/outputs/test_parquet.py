"""Traces as one Parquet table: each event is a row with the facts from the trace's columns and its line."""

from __future__ import annotations

import gc
import io
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.record.events import NodeCreated, NodeStarted, Printed, SourceLine
from dispatchviz.core.record.trace_file import FORMAT, Header
from dispatchviz.core.record.trace_file.event_lines import decode_lines
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.formats import check_export
from dispatchviz.outputs.table import parquet
from dispatchviz.outputs.table.format import export_table
from dispatchviz.outputs.table.parquet import Run
from dispatchviz.running.program import run
from dispatchviz.trace import Trace

duckdb = pytest.importorskip("duckdb")
pq = pytest.importorskip("pyarrow.parquet")

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "many-traces.md"

PROGRAM = """\
import os
import torch

rank = int(os.environ["RANK"])
x = torch.ones(2, requires_grad=True)

def twice(a):
    return a * 2

unused = x.sin()
y = twice(x)
if rank == 1:
    y = y + 1
y.sum().backward()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a program's two ranks, as traces and as tables."""
    folder = tmp_path_factory.mktemp("ranks")
    script = folder / "train.py"
    script.write_text(PROGRAM)
    with pytest.MonkeyPatch.context() as patch:
        for rank in range(2):
            patch.setenv("RANK", str(rank))
            trace = run(str(script), (), io.StringIO(), b"").trace
            trace.save(folder / f"rank{rank}.dvtrace")
            export_table([Run("train", Trace.load(folder / f"rank{rank}.dvtrace"), "")], folder / f"{rank}.parquet")
    return folder


def table(*traces: Trace) -> Any:
    stream = io.BytesIO()
    parquet.write([Run(f"run{at}", trace, f"{at}.jsonl") for at, trace in enumerate(traces)], stream)
    return pq.ParquetFile(io.BytesIO(stream.getvalue()))


def expected(trace: Trace, name: str) -> list[dict[str, Any]]:
    """Return the expected rows, from the events themselves."""
    rows = []
    for event in trace:
        around = [event, *trace.ancestors(event.seq)]
        at = trace.columns.lines[event.seq]
        line = trace[at] if at >= 0 else None
        assert line is None or isinstance(line, SourceLine)
        rows.append({
            "run": name, "rank": trace.header.rank, "seq": event.seq, "kind": type(event).__name__,
            "parent": event.parent, "depth": len(around) - 1, "end": trace.ends[event.seq],
            "source_line": line.seq if line else None, "file": line.file if line else None,
            "line": line.line if line else None, "function": line.function if line else None,
            "operator": getattr(event, "operator", "") or None, "key": getattr(event, "key", "") or None,
            "node": getattr(event, "node", None), "tensor": getattr(event, "tensor", None),
        })  # fmt: skip
    return rows


@pytest.mark.parametrize("opened", [False, True])
def test_every_event_is_a_row_with_all_that_the_trace_says(folder: Path, opened: bool) -> None:
    stored = Trace.load(folder / "rank1.dvtrace")
    trace = stored if opened else Trace(stored.header, tuple(stored))
    rows = table(trace).read().to_pylist()
    lines = "".join(row.pop("event") + "\n" for row in rows)
    assert rows == expected(trace, "run0")
    assert decode_lines(lines.encode(), 0) == list(trace)


def test_texts_are_plain_texts_that_are_stored_once(folder: Path) -> None:
    file = table(Trace.load(folder / "rank0.dvtrace"))
    assert {str(file.schema_arrow.field(name).type) for name in (*parquet.TEXTS, "event")} == {"string"}
    group = file.metadata.row_group(0)
    columns = {group.column(at).path_in_schema: group.column(at) for at in range(file.metadata.num_columns)}
    assert {name for name, column in columns.items() if column.has_dictionary_page} == set(parquet.TEXTS)
    assert {name for name, column in columns.items() if not column.is_stats_set} == {"event"}


def test_the_metadata_has_the_format_and_the_headers(folder: Path) -> None:
    traces = [Trace.load(folder / f"rank{rank}.dvtrace") for rank in range(2)]
    metadata = table(*traces).metadata.metadata
    assert metadata[b"dispatchviz.format"] == str(FORMAT).encode()
    told = json.loads(metadata[b"dispatchviz.traces"])
    assert [(each["run"], each["header"]["rank"], each["header"]["sources"]) for each in told] == [
        ("run0", 0, {}),
        ("run1", 1, {}),
    ]


def test_a_long_trace_is_several_row_groups_and_small_ones_share_one(monkeypatch: pytest.MonkeyPatch) -> None:
    header = Header(cuda="", program="p.py")
    line, text = SourceLine(0, None, "p.py", 1), (Printed(at, 0, f"{at}\n") for at in range(1, 2_000))
    stored = Trace.decoded(Trace(header, [line, *text]).encoded(".dvtrace"), "t")
    assert table(stored, Trace(header, [line])).num_row_groups == 1
    monkeypatch.setattr(parquet, "ROW_GROUP", 600)
    file = table(stored, Trace(header, [line]))
    assert file.num_row_groups == 3
    assert file.read(["run", "seq", "line"]).to_pylist() == [
        *({"run": "run0", "seq": at, "line": 1} for at in range(2_000)),
        {"run": "run1", "seq": 0, "line": 1},
    ]


def test_a_trace_without_events_is_a_table_without_rows() -> None:
    assert table(Trace(Header(cuda="", program="p.py"), [])).read().to_pylist() == []


def test_text_that_is_no_utf_8_is_written_out() -> None:
    events = [SourceLine(0, None, "a\udc80.py", 3), Printed(1, 0, "\ud800")]
    trace = Trace(Header(cuda="", program="p.py"), events)
    for each in (trace, Trace.decoded(trace.encoded(".dvtrace"), "t")):
        rows = table(each).read(["file", "event"]).to_pylist()
        assert [row["file"] for row in rows] == ["a\\udc80.py"] * 2
        assert decode_lines("".join(row["event"] + "\n" for row in rows).encode(), 0) == events


def test_two_traces_with_the_same_run_and_rank_are_refused(folder: Path, tmp_path: Path) -> None:
    trace, there = Trace.load(folder / "rank0.dvtrace"), tmp_path / "all.parquet"
    with pytest.raises(DispatchvizError, match=r"^a and b are both rank 0 of run one: "):
        export_table((Run("one", trace, source) for source in "ab"), there)
    assert os.listdir(tmp_path) == []


def test_after_an_error_nothing_is_written_any_more(folder: Path) -> None:
    class Noting(io.BytesIO):
        late = 0

        def write(self, data: Any, /) -> int:
            if self.closed:
                type(self).late += 1
            return super().write(data)

    trace = Trace.load(folder / "rank0.dvtrace")
    with Noting() as stream, pytest.raises(DispatchvizError, match="are both rank 0 of run one") as caught:
        parquet.write((Run("one", trace, source) for source in "ab"), stream)
    del caught  # which kept what was begun until the stream was closed
    gc.collect()
    assert Noting.late == 0


def test_error_names_the_missing_extra(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(DispatchvizError, match=re.escape("pip install 'dispatchviz[parquet]'")):
        check_export(str(tmp_path / "t.parquet"), ".parquet")


def test_other_tables_are_not_overwritten(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes((folder / "0.parquet").read_bytes())
    check_export(str(path), ".parquet")
    pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)  # without the metadata
    for other in (path.read_bytes(), b"PAR1", b"notes", b"\xff\xff\xff\xffPAR1"):
        path.write_bytes(other)
        with pytest.raises(DispatchvizError, match="is not a table of traces: it is not overwritten"):
            check_export(str(path), ".parquet")


# -- the how-to -------------------------------------------------------------------------------------------------------

QUERIES = dict(re.findall(r"## ([^\n]+)\n(?:(?!\n## ).)*?```sql\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))


def asked(folder: Path, title: str) -> list[dict[str, Any]]:
    """Return the rows of a query from the documentation for the tables of a folder."""
    answer = duckdb.sql(QUERIES[title].replace("'*.parquet'", f"'{folder}/*.parquet'"))
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]


def test_every_query_of_the_page_is_tried() -> None:
    assert len(QUERIES) == PAGE.read_text("utf-8").count("```sql") == 5


def test_query_counts_calls_by_rank(folder: Path) -> None:
    rows = asked(folder, "Which operators does each rank call most?")
    calls = {(row["rank"], row["operator"]): row["calls"] for row in rows}
    assert calls[0, "aten::sin"] == calls[1, "aten::sin"] == 1
    assert (1, "aten::add.Tensor") in calls
    assert (0, "aten::add.Tensor") not in calls


def test_query_finds_where_two_ranks_differ(folder: Path) -> None:
    (row,) = asked(folder, "Where do two ranks differ first?")
    assert (row["operator_0"], row["line_0"]) == ("aten::sum", PROGRAM.splitlines().index("y.sum().backward()") + 1)
    assert (row["operator_1"], row["line_1"]) == ("aten::add.Tensor", PROGRAM.splitlines().index("    y = y + 1") + 1)


def test_query_finds_nodes_that_never_run(folder: Path) -> None:
    rows = asked(folder, "Which Nodes never run?")
    assert [(row["rank"], row["name"]) for row in rows] == [(0, "SinBackward0"), (1, "SinBackward0")]
    trace = Trace.load(folder / "rank0.dvtrace")
    made = {event.node for event in trace if isinstance(event, NodeCreated)}
    assert {rows[0]["node"]} == made - {event.node for event in trace if isinstance(event, NodeStarted)}


def test_query_lists_redispatches_of_a_call(folder: Path) -> None:
    rows = {row["operator"]: row for row in asked(folder, "How many redispatches does a call take?")}
    assert rows["aten::sin"]["calls"] == rows["aten::sin"]["redispatches"] == 2  # under Autograd, on two ranks
    assert rows["aten::sin"]["redispatches_per_call"] == 1


def test_query_finds_the_deepest_nesting(folder: Path) -> None:
    rows = asked(folder, "Where is the nesting deepest?")
    for row in rows:
        trace = Trace.load(folder / f"rank{row['rank']}.dvtrace")
        assert row["depth"] == max(trace.depths) == trace.depths[row["step"]]
    assert {row["rank"] for row in rows} == {0, 1}


def test_a_recording_becomes_a_table() -> None:
    with dispatchviz.record("p.py") as trace:
        torch.ones(2)
    assert table(trace).metadata.num_rows == len(trace)
