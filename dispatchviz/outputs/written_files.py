"""Files that are written for a user. Every failure is one sentence, and only a file of the same kind is replaced.

A command checks this before a program runs. Not here: the formats, which are in their folders.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from dispatchviz.core.record.file_replacement import check_writable, replacing, write_whole
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.terminal_output import chunks

STANDARD_OUTPUT = "-"

BEGINNING = 1 << 16
"""The number of bytes of a file that are read to recognize it."""


def check_place(path: str, kind: str, begins: Callable[[bytes], object] = bool) -> None:
    """Raise DispatchvizError if no file can be written there, or if an existing file does not begin as its kind."""
    with writing(path):
        check_writable(path)
    if (there := _beginning(path)) and not begins(there):
        raise taken(path, kind)


def taken(path: str, kind: str) -> DispatchvizError:
    """Return the error for a file of another kind."""
    return DispatchvizError(f"{path} exists and is not a {kind}: it is not overwritten, choose another name")


def _beginning(path: str) -> bytes:
    """Return the first bytes of an existing file; empty if it is not a regular file, such as a pipe."""
    if not os.path.isfile(path):
        return b""
    with reading(path), open(path, "rb") as stream:
        return stream.read(BEGINNING)


def write_text(path: str | Path, lines: Iterable[str]) -> None:
    """Write lines, without line ends. Raise DispatchvizError if the file cannot be written."""
    write_bytes(path, "".join(chunks(lines)).encode())


def write_bytes(path: str | Path, data: bytes) -> None:
    """Create or replace a file; ``-`` is standard output. Raise DispatchvizError if it cannot be written."""
    if str(path) == STANDARD_OUTPUT:
        _print([data])
        return
    with writing(path):
        write_whole(path, data)


def write_pieces(path: str | Path, pieces: Iterable[bytes]) -> None:
    """Create or replace a file piece by piece."""
    if str(path) == STANDARD_OUTPUT:
        _print(pieces)
        return
    with stream_to(path) as stream:
        buffered = io.BufferedWriter(stream)  # the stream itself may write only a part
        buffered.writelines(pieces)
        buffered.flush()
        buffered.detach()


def _print(pieces: Iterable[bytes]) -> None:
    sys.stdout.buffer.writelines(pieces)
    sys.stdout.flush()


@contextmanager
def stream_to(path: str | Path) -> Iterator[BinaryIO]:
    """Yield a stream to a file, which takes its place once it is complete. Raise DispatchvizError if that fails."""
    with writing(path), replacing(path) as stream:
        yield stream


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Turn an OSError of writing into one sentence."""
    try:
        yield
    except OSError as error:
        raise DispatchvizError(f"cannot write {path}: {error.strerror or error}") from None


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Turn an OSError of reading into one sentence."""
    try:
        yield
    except OSError as error:
        raise DispatchvizError(f"cannot read {path}: {error.strerror or error}") from None
