"""Files that a trace becomes: the suffix says which kind, and every failure is one sentence for the user.

Not here: how a kind is made (``render``, ``core/trace.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from dispatchviz.core.trace import Trace
from dispatchviz.errors import DispatchvizError

PICTURES = (".svg", ".dot", ".png", ".pdf")
TRACES = (".jsonl", ".jsonl.gz")


def check_suffix(path: str | Path) -> str:
    """The suffix of a file to write. Raises DispatchvizError, listing what there is, for any that means nothing."""
    name = Path(path).name.lower()
    for suffix in (*PICTURES, *TRACES):
        if name.endswith(suffix):
            return suffix
    known = f"a picture is {', '.join(PICTURES)}, a trace is {' or '.join(TRACES)}"
    raise DispatchvizError(f"cannot tell from its name what {path} is to be: {known}")


def export(trace: Trace, path: str | Path) -> None:
    """Writes the file that the suffix asks for. Raises DispatchvizError or RenderError if that cannot be done."""
    if check_suffix(path) in TRACES:
        save_trace(trace, Path(path))
    else:
        from dispatchviz.render.backward_graph import backward_graph

        backward_graph(trace).render(path)


def save_trace(trace: Trace, path: Path) -> None:
    """Saves a trace. Raises DispatchvizError if the file cannot be written."""
    with _writing(path):
        trace.save(path)


def write_log(trace: Trace, form: str, path: str | None) -> None:
    """Writes the log in a form (``text``, ``torch`` or ``jsonl``), to standard output if no path is given."""
    if path and form == "jsonl":
        save_trace(trace, Path(path))
    elif path:
        with _writing(Path(path)):
            Path(path).write_text("".join(f"{line}\n" for line in log_lines(trace, form)), encoding="utf-8")
    else:
        for line in log_lines(trace, form):
            print(line)


def log_lines(trace: Trace, form: str) -> Iterator[str]:
    """The lines of a log, without line ends."""
    if form == "jsonl":
        return (msgspec.json.encode(part).decode() for part in (trace.header, *trace.events))
    if form == "torch":
        from dispatchviz.render.torch_log import torch_log

        return torch_log(trace)
    from dispatchviz.render.text import text_log

    return text_log(trace)


def is_trace_file(path: str) -> bool:
    """Whether a file is, or was meant to be, a saved trace and not a program. A missing file is asked by its name."""
    if path.endswith((".py", *TRACES)):
        return not path.endswith(".py")
    try:
        with open(path, "rb") as stream:
            return stream.read(2)[:2] in (b"\x1f\x8b", b'{"')
    except OSError:
        return False


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DispatchvizError(f"cannot write {path}: {error.strerror or error}") from None
