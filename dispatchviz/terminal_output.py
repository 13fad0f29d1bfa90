"""Where plain text leaves: the standard streams, and nothing goes there but as ``shown_text.py`` lets it.

All that commands print goes through here, which a test makes sure of (``tests/test_terminal_output.py``). What the
user's own program prints does not: that stays its own, to the byte.
"""

from __future__ import annotations

import contextlib
import os
import sys

from dispatchviz.shown_text import ShownLines, shown, shown_json

TYPE_CHECKING = False  # not typing's: see dispatchviz/__init__.py
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO


def print_lines(lines: Iterable[str], stream: TextIO | None = None) -> None:
    """Lines on standard output, or on another stream."""
    output = stream or sys.stdout
    for chunk in chunks(lines):
        _write(output, chunk)
    output.flush()


def print_painted(lines: Iterable[list[str]]) -> None:
    """Lines on standard output of which every second part is a code of ours, sent as it is."""
    for parts in lines:
        parts[::2] = map(shown, parts[::2])
        _write(sys.stdout, f"{''.join(parts)}\n")
    sys.stdout.flush()


def print_json_lines(lines: Iterable[str]) -> None:
    """Lines of JSON on standard output; each is read back as it was."""
    for line in lines:
        _write(sys.stdout, f"{shown_json(line)}\n")
    sys.stdout.flush()


def complain(text: str) -> None:
    """One line on standard error; whom nobody hears is silent."""
    if sys.stderr is None or sys.stderr.closed:  # the program that ran may have done that
        complain_at_once(text)
        return
    with contextlib.suppress(OSError):
        print_lines([_complaint(text)], sys.stderr)


def complain_at_once(text: str) -> None:
    """The same past ``sys.stderr``, where that is closed, or may be in the middle of a write."""
    with contextlib.suppress(OSError):
        line = f"{shown(_complaint(text))}\n".encode(errors="backslashreplace")
        os.write(2, b"\r\x1b[K" + line if os.isatty(2) else line)  # a line of progress may be there


def _complaint(text: str) -> str:
    return f"dispatchviz: {' '.join(part for part in text.replace(chr(10), ' ').split(' ') if part)}"


def chunks(lines: Iterable[str]) -> Iterator[str]:
    """Lines with their ends, many at once."""
    for some in (lines if isinstance(lines, ShownLines) else ShownLines(lines)).chunks():
        yield "\n".join([*some, ""])


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:  # such as an arrow where the locale has ASCII only
        stream.write(text.encode(stream.encoding, "backslashreplace").decode(stream.encoding))
