"""Files that a trace becomes: the suffix determines the kind, and every failure is one sentence for the user.

Whether a file may be written is known before a program runs: of what is there only a trace of ours makes room for a
trace, a log for a log, a hand-out for a hand-out, and a picture for a picture of its form. Not here: how a kind is made
(``render``, ``core/record``), and files of answers, which are read before they are written (``lessons/answers.py``).
"""

from __future__ import annotations

import dataclasses
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dispatchviz.core.record.file_replacement import check_writable, replacing, write_whole
from dispatchviz.core.record.trace_file import Trace, encode, looks_like_trace
from dispatchviz.core.record.trace_file.writers import SUFFIXES
from dispatchviz.foundation.compressed import beginning_of
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.terminal_output import chunks, print_json_lines
from dispatchviz.live.snapshot_file import SNAPSHOTS, looks_like_snapshot
from dispatchviz.outputs.without_folders import without_folders

if TYPE_CHECKING:
    from dispatchviz.outputs.picture.chosen_picture import Chosen
    from dispatchviz.outputs.table.parquet import Run

PICTURES = (".svg", ".dot", ".png", ".pdf")
TRACES = SUFFIXES
TABLES = (".parquet",)
PAGES = (".html",)
PERFETTO = (".json", ".json.gz")
LOGS = (".txt", ".log")
HAND_OUTS = (".md",)
STEPS = (*LOGS, *HAND_OUTS)
"""What may be of some steps, and have more or less of them."""
BINARY = (".png", ".pdf", ".dvtrace", ".jsonl.gz", ".json.gz", *TABLES)
SUFFIXES_OF_EXPORTS = (*TRACES, *PICTURES, *TABLES, *PAGES, *PERFETTO, *STEPS)
STANDARD_OUTPUT = "-"

BEGINNING = 1 << 16
"""So many bytes of a file are read to recognise it."""

LOG = re.compile(rb"[^\n]* on (the model of )?PyTorch [^\n]*, cuda: |\s*\[\w+\] op=\[")
"""How a log begins."""

PICTURE = {
    ".svg": re.compile(rb"(\s*<[?!][^\0]*?)?\s*<svg\b"),
    ".dot": re.compile(rb"\s*(strict\s+)?(di)?graph\b"),
    ".png": re.compile(rb"\x89PNG"),
    ".pdf": re.compile(rb"%PDF-"),
}
"""How a picture of each form begins."""

CAST_FILE = re.compile(rb'\s*\{"version": 2, "width": ')
"""How a recording of a terminal begins (``tui/played/cast_file.py``)."""

HAND_OUT_MARK = "<!-- Written by dispatchviz lesson, which writes over it; without this line it does not. -->"
"""The first line of a hand-out, which no reader of Markdown sees."""

HAND_OUT = re.compile(re.escape(HAND_OUT_MARK.encode()))

STEPS_MARK = "<!-- Written by dispatchviz export, which writes over it; without this line it does not. -->"
"""The first line of a hand-out of steps."""


def suffix_of(path: str | Path) -> str:
    """The suffix of a file that ``export`` writes; empty for all others."""
    name = Path(path).name.lower()
    return next((suffix for suffix in SUFFIXES_OF_EXPORTS if name.endswith(suffix)), "")


def check_suffix(path: str | Path) -> str:
    """The suffix of a file to write. Raises DispatchvizError, listing what there is, for any that means nothing."""
    if suffix := suffix_of(path):
        return suffix
    known = (
        f"a picture is {', '.join(PICTURES)}, a trace is {_either(TRACES)}, a table is {_either(TABLES)}, "
        f"a page that steps is {_either(PAGES)}, "
        f"what Perfetto opens is {_either(PERFETTO)}, a log is {_either(LOGS)}, a hand-out is {_either(HAND_OUTS)}"
    )
    raise DispatchvizError(f"cannot infer from its name what {path} is to be: {known}")


def _either(suffixes: Sequence[str]) -> str:
    """``.a, .b or .c``."""
    *others, last = suffixes
    return f"{', '.join(others)} or {last}" if others else last


PAGE = re.compile(rb'<meta name="generator" content="dispatchviz player">')
"""What a page of ours has in its first bytes."""

PERFETTO_FILE = re.compile(rb'\{"dispatchviz_trace_events":')
"""How what we write for Perfetto begins (``outputs/perfetto/trace_json.py``)."""


def looks_like_perfetto(raw: bytes) -> bool:
    """Whether some bytes begin as a file that we wrote for Perfetto, compressed or not; a profiler's own does not."""
    return bool(PERFETTO_FILE.match(beginning_of(raw)))


# -- before a program runs --------------------------------------------------------------------------------------------


def check_save(path: str) -> None:
    """Raises DispatchvizError if a trace cannot be saved there, or would replace a file that is no trace."""
    if suffix_of(path) not in TRACES:
        raise DispatchvizError(f"cannot save the trace as {path}: the name of a trace ends in {_either(TRACES)}")
    check_trace(path)


def check_trace(path: str) -> None:
    """The same whatever its name is."""
    _check_place(path, "trace", looks_like_trace)


def check_snapshot(path: str) -> None:
    """Raises DispatchvizError if a snapshot cannot be written there, or would replace a file that is none."""
    if path != STANDARD_OUTPUT:
        if not path.lower().endswith(SNAPSHOTS):
            raise DispatchvizError(f"cannot write the snapshot as {path}: its name ends in {_either(SNAPSHOTS)}")
        _check_place(path, "snapshot", looks_like_snapshot)


def check_log(path: str) -> None:
    """Raises DispatchvizError if a log cannot be written there, or would replace a file that is none."""
    if (suffix := suffix_of(path)) in TRACES:
        raise DispatchvizError(f"{path} is the name of a trace, which --format jsonl writes: a log is no {suffix}")
    _check_place(path, "log", LOG.match)


def check_hand_out(path: str) -> None:
    """Raises DispatchvizError if a hand-out cannot be written there, or would replace a file that is none of ours."""
    if path != STANDARD_OUTPUT:
        _check_place(path, "hand-out of ours", HAND_OUT.match)


def check_picture(path: str, suffix: str) -> None:
    """Raises DispatchvizError if a picture of that form cannot be written there, or would replace what is none."""
    _check_place(path, f"{suffix} picture", PICTURE[suffix].match)


def check_cast(path: str) -> None:
    """Raises DispatchvizError if a recording of a terminal cannot be written there, or would replace what is none."""
    _check_place(path, "recording of a terminal", CAST_FILE.match)


def check_export(path: str, form: str) -> None:
    """Raises DispatchvizError if a file of that suffix cannot be written there."""
    if path == STANDARD_OUTPUT:
        if form in BINARY and sys.stdout.isatty():
            raise DispatchvizError(f"{form} is no text for a terminal: give a file with -o, or a pipe")
    elif form in TRACES:
        check_trace(path)
    elif form in TABLES:
        check_table(path)
    elif form in PERFETTO:
        _check_place(path, "trace for Perfetto of ours", looks_like_perfetto)
    elif form in LOGS:
        check_log(path)
    elif form in HAND_OUTS:
        _check_place(path, "hand-out of steps of ours", lambda raw: raw.startswith(STEPS_MARK.encode()))
    elif form in PAGES:
        check_page(path)
    else:
        check_picture(path, form)


def check_page(path: str) -> None:
    """Raises DispatchvizError if a page cannot be written there, or would replace a file that is none of ours."""
    _check_place(path, "page of ours", PAGE.search)


def check_table(path: str) -> None:
    """Raises DispatchvizError if a table cannot be written there, or would replace a file that is none of ours."""
    from dispatchviz.outputs.table.parquet import check_parquet, is_ours

    check_parquet()
    _check_place(path, "table of traces")
    if not os.path.isfile(path):
        return
    with _reading(path), open(path, "rb") as stream:
        if stream.read(1) and not is_ours(stream):
            raise _taken(path, "table of traces")


def _check_place(path: str, kind: str, begins: Callable[[bytes], object] = bool) -> None:
    """DispatchvizError if no file can be made or replaced there, or one is there that does not begin as its kind."""
    with _writing(path):
        check_writable(path)
    if (there := _beginning(path)) and not begins(there):
        raise _taken(path, kind)


def _taken(path: str, kind: str) -> DispatchvizError:
    return DispatchvizError(f"{path} is there and is no {kind}: it is not overwritten, choose another name")


def _beginning(path: str) -> bytes:
    """The first bytes of an existing file; empty if it is no regular file, such as a pipe."""
    if not os.path.isfile(path):
        return b""
    with _reading(path), open(path, "rb") as stream:
        return stream.read(BEGINNING)


# -- writing ----------------------------------------------------------------------------------------------------------


def export(trace: Trace, path: str | Path, form: str = "", chosen: Chosen | None = None) -> str:
    """Writes the file that ``form``, else its own suffix, names; to standard output for ``-``.

    ``chosen``: which picture it is to be, left out the backward graph. Gives what should be said of the
    file, if anything. Raises DispatchvizError or RenderError if that cannot be done.
    """
    form = form or check_suffix(path)
    if str(path) == STANDARD_OUTPUT and form == ".jsonl":
        write_log(trace, "jsonl", None)
        return ""
    if form in PERFETTO:
        export_perfetto(trace, path, form)
        return ""
    if form in TRACES and suffix_of(path) == form:
        save_trace(trace, path)
        return ""
    data, note = exported(trace, form, chosen)
    if str(path) == STANDARD_OUTPUT:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    else:
        write_bytes(path, data)
    return note


def export_perfetto(trace: Trace, path: str | Path, form: str) -> None:
    """Writes what Perfetto opens, piece by piece. Raises DispatchvizError if the file cannot be written."""
    from dispatchviz.outputs.perfetto.trace_json import compressed, perfetto_chunks

    chunks = perfetto_chunks(without_folders(trace))
    pieces = compressed(chunks) if form == ".json.gz" else chunks
    if str(path) == STANDARD_OUTPUT:
        sys.stdout.buffer.writelines(pieces)
        sys.stdout.flush()
        return
    with _writing(path), replacing(path) as stream:
        buffered = io.BufferedWriter(stream)  # the stream itself may take less than all
        buffered.writelines(pieces)
        buffered.flush()
        buffered.detach()


def export_table(runs: Iterable[Run], path: str | Path) -> None:
    """Writes some traces as one table; to standard output for ``-``. Raises DispatchvizError if that cannot be done."""
    from dispatchviz.outputs.table.parquet import write

    runs = (dataclasses.replace(run, trace=without_folders(run.trace)) for run in runs)
    if str(path) == STANDARD_OUTPUT:
        data = io.BytesIO()
        write(runs, data)
        sys.stdout.buffer.write(data.getvalue())
        sys.stdout.flush()
        return
    with _writing(path), replacing(path) as stream:
        write(runs, stream)


def run_name(source: str | Path) -> str:
    """What the run of a program's or a trace's file is called in a table: its name without its suffix."""
    name = Path(source).name
    return name[: -len(suffix)] if (suffix := suffix_of(name)) in TRACES else Path(name).stem


def exported(trace: Trace, suffix: str, chosen: Chosen | None = None) -> tuple[bytes, str]:
    """The content of a file of that suffix, and what to say of it. Raises RenderError if it cannot be rendered."""
    if suffix in TRACES:
        return trace.encoded(suffix), ""
    if suffix in PAGES:
        from dispatchviz.outputs.page.player_page import player_page

        return player_page(without_folders(trace)), ""
    from dispatchviz.outputs.picture.chosen_picture import Chosen, chosen_picture

    drawn = chosen_picture(without_folders(trace), suffix, chosen or Chosen())
    more = "--expand RANGE, such as 3-7, draws the Nodes with these sequence numbers one by one, --no-fold all of them"
    return drawn.data, f"{drawn.note}; {more}" if drawn.is_folded else drawn.note


def save_trace(trace: Trace, path: str | Path) -> None:
    """Saves a trace. Raises DispatchvizError if the file cannot be written."""
    with _writing(path):
        trace.save(path)


def write_log(
    trace: Trace, form: str, path: str | None, wanted: Mapping[str, Any] | None = None, pager: bool = False
) -> None:
    """Writes the log in a form (``text``, ``torch`` or ``jsonl``), to standard output without a path.

    ``wanted`` has fields of the ``LogFilter`` of the text. Raises DispatchvizError if nothing of it is there.
    """
    if path and form == "jsonl":
        save_trace(trace, path)
    elif path:
        write_text(path, log_lines(trace, form, wanted))
    elif form == "jsonl":
        print_json_lines(log_lines(trace, form))
    else:
        from dispatchviz.outputs.log.log_filter import LogFilter
        from dispatchviz.outputs.log.printed_log import print_log, print_plain

        if form == "text":
            print_log(trace, 0, LogFilter(**(wanted or {})), pager)
        else:
            print_plain(log_lines(trace, form), pager)


def log_lines(trace: Trace, form: str, wanted: Mapping[str, Any] | None = None) -> Iterable[str]:
    """The lines of a log, without line ends."""
    if form == "jsonl":
        return (encode(part).decode() for part in (trace.header, *trace.events))
    if form == "torch":
        from dispatchviz.outputs.log.torch_log import torch_log

        return torch_log(trace)
    from dispatchviz.outputs.log.log_filter import LogFilter
    from dispatchviz.outputs.log.text_log import text_log

    return text_log(trace, 0, LogFilter(**(wanted or {})))


def write_text(path: str | Path, lines: Iterable[str]) -> None:
    """Writes lines, without line ends. Raises DispatchvizError if the file cannot be written."""
    write_bytes(path, "".join(chunks(lines)).encode())


def write_bytes(path: str | Path, data: bytes) -> None:
    """Makes or replaces a file. Raises DispatchvizError if it cannot be written."""
    with _writing(path):
        write_whole(path, data)


@contextmanager
def _writing(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DispatchvizError(f"cannot write {path}: {error.strerror or error}") from None


@contextmanager
def _reading(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DispatchvizError(f"cannot read {path}: {error.strerror or error}") from None
