"""Plain text on the standard streams, always escaped by ``shown_text.py``.

All output of commands passes through here (``tests/foundation/test_terminal_output.py`` finds exceptions). The output
of the user's own program does not; it stays the same to the byte.
"""

from __future__ import annotations

import os
import sys

from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.shown_text import ShownLines, shown, shown_json

TYPE_CHECKING = False  # not typing's: see dispatchviz/__init__.py
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO


def print_lines(lines: Iterable[str], stream: TextIO | None = None) -> None:
    """Print lines on standard output, or on another stream."""
    output = stream or _standard_output()
    for chunk in chunks(lines):
        _write(output, chunk)
    output.flush()


def print_painted(lines: Iterable[list[str]]) -> None:
    """Print lines on standard output. Every second part of a line is a color code of ours and is not escaped."""
    output = _standard_output()
    for line in map(_painted, lines):
        _write(output, f"{line}\n")
    output.flush()


def _painted(parts: list[str]) -> str:
    parts[::2] = map(shown, parts[::2])
    return "".join(parts)


def print_paged(lines: Iterable[list[str]]) -> None:
    """Print lines as ``print_painted`` does. Use a pager if they do not fit on the terminal."""
    import shutil

    left = map(_painted, lines)
    size = shutil.get_terminal_size()
    first, height = list[str](), 0
    for line in left:
        first.append(line)
        height += 1 + len(line) // size.columns
        if height >= size.lines:
            _page(first, left)
            return
    output = _standard_output()
    _write(output, "".join(f"{line}\n" for line in first))
    output.flush()


def _page(first: list[str], left: Iterator[str]) -> None:
    """Page by click: with PAGER, else less. Without a pager or on a dumb terminal, click prints."""
    import contextlib
    import itertools

    import click

    lines = itertools.chain(first, left)
    pages = iter(lambda: list(itertools.islice(lines, PAGE)), [])
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):  # Ctrl+C in a pager does not end this process
        click.echo_via_pager("".join(f"{line}\n" for line in page) for page in pages)


PAGE = 500
"""The number of lines that a pager gets at once."""


def print_json_lines(lines: Iterable[str]) -> None:
    """Print lines of JSON on standard output. Each reads back unchanged."""
    output = _standard_output()
    for line in lines:
        _write(output, f"{shown_json(line)}\n")
    output.flush()


def _standard_output() -> TextIO:
    if sys.stdout is None:  # `>&-`
        raise DispatchvizError("cannot print: standard output is closed")
    return sys.stdout


def complain(text: str) -> None:
    """Print one line on standard error. Errors of the stream are ignored."""
    if sys.stderr is None or sys.stderr.closed:  # the user's program may have closed it
        complain_at_once(text)
        return
    try:
        sys.stderr.flush()  # the program's own output that could not be written
        try:
            print_lines([_complaint(text)], sys.stderr)
        except OSError:
            _drop_written(sys.stderr)
    except OSError:
        pass


def _drop_written(stream: TextIO) -> None:
    """Empty the buffer of a stream whose file accepts no data, since Python would otherwise exit with status 120."""
    with Dropped(stream.fileno()):
        stream.flush()


class Dropped:
    """A block in which everything that is written to a file descriptor is dropped, also by C++. Entering it raises
    OSError if the descriptor is closed. It is a class because ``--help`` should not import contextlib.
    """

    def __init__(self, file: int) -> None:
        self._file = file

    def __enter__(self) -> None:
        self._kept, nowhere = os.dup(self._file), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._file)
        os.close(nowhere)

    def __exit__(self, *error: object) -> None:
        os.dup2(self._kept, self._file)
        os.close(self._kept)


def complain_at_once(text: str) -> None:
    """Print one line without ``sys.stderr``, which may be closed or in the middle of a write."""
    try:
        line = f"{shown(_complaint(text))}\n".encode(errors="backslashreplace")
        os.write(2, b"\r\x1b[K" + line if os.isatty(2) else line)  # it may overwrite a progress line
    except OSError:
        pass


def _complaint(text: str) -> str:
    return f"dispatchviz: {' '.join(part for part in text.replace(chr(10), ' ').split(' ') if part)}"


def chunks(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines with their ends, many at once."""
    for some in (lines if isinstance(lines, ShownLines) else ShownLines(lines)).chunks():
        yield "\n".join([*some, ""])


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:  # such as an arrow where the locale has ASCII only
        stream.write(text.encode(stream.encoding, "backslashreplace").decode(stream.encoding))
