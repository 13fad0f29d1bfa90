"""Files that a trace becomes: the suffix determines the kind, and every failure is one sentence for the user.

Whether a file may be written is known before a program runs: of what is there only a trace of ours makes room for a
trace, a log for a log, and a picture for a picture. Not here: how a kind is made (``render``, ``core/record``).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dispatchviz.core.record.file_replacement import check_writable, write_whole
from dispatchviz.core.record.trace_file import Trace, encode, looks_like_trace
from dispatchviz.errors import DispatchvizError

PICTURES = (".svg", ".dot", ".png", ".pdf")
TRACES = (".jsonl", ".jsonl.gz")
BINARY = (".png", ".pdf", ".jsonl.gz")
STANDARD_OUTPUT = "-"

BEGINNING = 1 << 16
"""So many bytes of a file are read to recognise it."""

LOG = re.compile(rb"[^\n]* on (the model of )?PyTorch [^\n]*, cuda: |\s*\[\w+\] op=\[")
"""How a log begins."""


def suffix_of(path: str | Path) -> str:
    """The suffix of a picture or a trace; empty for all others."""
    name = Path(path).name.lower()
    return next((suffix for suffix in (*TRACES, *PICTURES) if name.endswith(suffix)), "")


def check_suffix(path: str | Path) -> str:
    """The suffix of a file to write. Raises DispatchvizError, listing what there is, for any that means nothing."""
    if suffix := suffix_of(path):
        return suffix
    known = f"a picture is {', '.join(PICTURES)}, a trace is {' or '.join(TRACES)}"
    raise DispatchvizError(f"cannot infer from its name what {path} is to be: {known}")


# -- before a program runs --------------------------------------------------------------------------------------------


def check_save(path: str) -> None:
    """Raises DispatchvizError if a trace cannot be saved there, or would replace a file that is no trace."""
    if suffix_of(path) not in TRACES:
        raise DispatchvizError(f"cannot save the trace as {path}: the name of a trace ends in {' or '.join(TRACES)}")
    check_trace(path)


def check_trace(path: str) -> None:
    """The same whatever its name is."""
    with _writing(path):
        check_writable(path)
    if (there := _beginning(path)) and not looks_like_trace(there):
        raise DispatchvizError(f"{path} is there and is no trace: it is not overwritten, choose another name")


def check_log(path: str) -> None:
    """Raises DispatchvizError if a log cannot be written there, or would replace a file that is none."""
    if (suffix := suffix_of(path)) in TRACES:
        raise DispatchvizError(f"{path} is the name of a trace, which --format jsonl writes: a log is no {suffix}")
    with _writing(path):
        check_writable(path)
    if (there := _beginning(path)) and not LOG.match(there):
        raise DispatchvizError(f"{path} is there and is no log: it is not overwritten, choose another name")


def check_export(path: str, form: str) -> None:
    """Raises DispatchvizError if a file of that suffix cannot be written there."""
    if path == STANDARD_OUTPUT:
        if form in BINARY and sys.stdout.isatty():
            raise DispatchvizError(f"{form} is no text for a terminal: give a file with -o, or a pipe")
    elif form in TRACES:
        check_trace(path)
    else:
        with _writing(path):
            check_writable(path)


def _beginning(path: str) -> bytes:
    """The first bytes of an existing file; empty if it is no regular file, such as a pipe."""
    if not os.path.isfile(path):
        return b""
    with _reading(path), open(path, "rb") as stream:
        return stream.read(BEGINNING)


# -- writing ----------------------------------------------------------------------------------------------------------


def export(trace: Trace, path: str | Path, form: str = "") -> None:
    """Writes the file that ``form``, else its own suffix, names; to standard output for ``-``.

    Raises DispatchvizError or RenderError if that cannot be done.
    """
    data = exported(trace, form or check_suffix(path))
    if str(path) == STANDARD_OUTPUT:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    else:
        _write(path, data)


def exported(trace: Trace, suffix: str) -> bytes:
    """The content of a file of that suffix. Raises RenderError if it cannot be rendered."""
    if suffix in TRACES:
        return trace.encoded(compressed=suffix.endswith(".gz"))
    from dispatchviz.render.graph.graph_picture import backward_graph, picture

    return picture(backward_graph(trace), suffix)


def save_trace(trace: Trace, path: str | Path) -> None:
    """Saves a trace. Raises DispatchvizError if the file cannot be written."""
    with _writing(path):
        trace.save(path)


def write_log(trace: Trace, form: str, path: str | None) -> None:
    """Writes the log in a form (``text``, ``torch`` or ``jsonl``), to standard output without a path."""
    if path and form == "jsonl":
        save_trace(trace, path)
    elif path:
        _write(path, "".join(f"{line}\n" for line in log_lines(trace, form)).encode())
    else:
        for line in log_lines(trace, form):
            print(line)
        sys.stdout.flush()


def log_lines(trace: Trace, form: str) -> Iterator[str]:
    """The lines of a log, without line ends."""
    if form == "jsonl":
        return (encode(part).decode() for part in (trace.header, *trace.events))
    if form == "torch":
        from dispatchviz.render.log.torch_log import torch_log

        return torch_log(trace)
    from dispatchviz.render.log.text_log import text_log

    return text_log(trace)


def _write(path: str | Path, data: bytes) -> None:
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
