"""The reader of trace files. It reads the index of a complete ``.dvtrace``, and any other file from beginning to end.

It trusts nothing in a file: lengths are compared with the file's size, blocks with their checksums, values with the
fields of their events. Compressed content is unpacked into a file of its own, up to a limit.
"""

from __future__ import annotations

import errno
import mmap
import os
import select
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from dispatchviz.core.record.trace_file.blocks import BEGIN, MAGIC, VERSION
from dispatchviz.core.record.trace_file.event_lines import LONGEST, decode_header
from dispatchviz.core.record.trace_file.header import Header, TraceError
from dispatchviz.core.record.trace_file.index import read_index
from dispatchviz.core.record.trace_file.stored_events import (
    EVENTS_PER_BLOCK,
    BytesSource,
    FileSource,
    Source,
    StoredEvents,
)
from dispatchviz.core.record.trace_file.unindexed_file import (
    BlockReading,
    Opened,
    Reading,
    check_format,
    header_in,
)
from dispatchviz.core.record.unfinished_files import unfinished_files

MOST_UNPACKED = 1 << 27
"""The number of bytes to which any compressed file may unpack. Beyond that, the limit is ``RATIO`` times its own
size.
"""
RATIO = 100
"""The largest ratio of compression; traces of long loops are compressed to about a fortieth."""

_PIECE = 1 << 20


def looks_like_trace(raw: bytes) -> bool:
    """Return whether some bytes begin as a trace file does, as far as they go. Compressed bytes are unpacked."""
    if raw[:2] == _GZIP:
        raw = b"".join(islice(_unpacked(BytesSource(raw)), 4))
    return raw.startswith((_BEGIN, MAGIC))


_BEGIN = b'{"format":'
_GZIP = b"\x1f\x8b"


def opened(path: str | Path) -> Opened:
    """Open a trace file. Raise TraceError if it cannot be read or is not a trace."""
    return opened_later(path)()


def opened_later(path: str | Path) -> Callable[[], Opened]:
    """Open a file that may be removed afterwards. Return a function that reads it. Both raise TraceError."""
    try:
        source = FileSource(_open(path))
    except OSError as error:
        raise TraceError(f"cannot read {path}: {error.strerror}{_part_beside(path)}") from None

    def read() -> Opened:
        try:
            return _opened(source, os.fstat(source.descriptor).st_size, path, _mapped(source.descriptor))
        except OSError as error:
            raise TraceError(f"cannot read {path}: {error.strerror or error}") from None

    return read


def opened_bytes(raw: bytes, path: str | Path) -> Opened:
    """Open the bytes of a trace file. ``path`` is its name in errors."""
    return _opened(BytesSource(raw), len(raw), path, lambda: memoryview(raw))


def _open(path: str | Path) -> int:
    """Open a regular file with the same bytes: for a pipe, with all that comes through it."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    try:
        if not stat.S_ISFIFO(mode):
            raise OSError(errno.EINVAL, "it is a folder" if stat.S_ISDIR(mode) else "it is a device")
        return _copy(descriptor)
    finally:
        os.close(descriptor)


def _copy(pipe: int) -> int:
    """Copy a pipe to a file, up to its end. A pipe without a writer is at its end."""
    with tempfile.TemporaryFile(buffering=0) as copy:
        while True:
            try:
                piece = os.read(pipe, _PIECE)
            except BlockingIOError:
                select.select([pipe], [], [])
                continue
            if not piece:
                return os.dup(copy.fileno())
            copy.write(piece)


def _mapped(descriptor: int) -> Callable[[], memoryview]:
    return lambda: memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))


def _part_beside(path: str | Path) -> str:
    """A text about an unfinished recording of that name; empty if there is none."""
    target = Path(path)
    found = unfinished_files(target.parent, target.name.split(".")[0])
    return f"; an unfinished recording of it is {found[-1]}" if found else ""


def _opened(source: Source, size: int, path: str | Path, mapped: Callable[[], memoryview]) -> Opened:
    begin = source.read_at(0, len(BEGIN))
    if begin[:2] == _GZIP:
        return _read_lines(_unpacked_file(source, size, path), path)
    if not begin.startswith(MAGIC):
        return _read_lines(source, path)
    check_format(int.from_bytes(begin[len(MAGIC) : len(MAGIC) + 4], "little"), path, VERSION)
    try:
        index = read_index(mapped())
    except ValueError:
        return _read_blocks(source, path)
    check_format(index.header.format, path)
    return index.header, StoredEvents(source, index.blocks, index.columns), ""


# -- a file without an index -------------------------------------------------------------------------------------------


def _read_blocks(source: Source, path: str | Path) -> Opened:
    reading = BlockReading(source, path)
    reading.read_on()
    return reading.result()


def _read_lines(source: Source, path: str | Path) -> Opened:
    """Read a ``.jsonl`` file."""
    lines = _lines(source)
    offset, first = next(lines, (0, b""))
    header, reading, good = header_in(first, path), Reading(source), True
    some, begin = list[bytes](), offset + len(first)
    for _, line in lines:
        if line.startswith(b"{"):
            header, good = _later_header(line, header)
            break
        if not line.strip():
            good = False
            break
        if len(some) == EVENTS_PER_BLOCK or len(line) > _PIECE:  # a huge one is not copied into a block with others
            raw = b"".join(some)
            good = reading.add(raw, begin)
            some, begin = [], begin + len(raw)
            if not good:
                break
        some.append(line)
    good = reading.add(b"".join(some), begin) and good
    return reading.result(header, path, good)


def _later_header(line: bytes, before: Header) -> tuple[Header, bool]:
    """The header at the end of a file that was written while the program ran, and whether the line is one."""
    try:
        return decode_header(line, Header), True
    except ValueError:
        return before, False


TOO_LONG = b"a line that is longer than any event"
"""The line that the reader gets instead of a line that is too long."""


def _lines(source: Source) -> Iterator[tuple[int, bytes]]:
    """Yield the offset of each line, and the line with its end. A line that is too long is the last one."""
    at, begun, length = 0, list[bytes](), 0
    while (piece := source.read_at(at + length, _PIECE)) and length <= LONGEST:
        head, end, others = piece.partition(b"\n")
        begun.append(head + end)
        length += len(head + end)
        if not end:
            continue
        line, begun = b"".join(begun), []  # a line of many megabytes is in memory only once
        yield at, line
        whole, end, left = others.rpartition(b"\n")
        at += length
        for line in (whole + end).splitlines(keepends=True):
            yield at, line
            at += len(line)
        begun, length = [left], len(left)
    if length:
        yield at, b"".join(begun) if length <= LONGEST else TOO_LONG


# -- compressed files --------------------------------------------------------------------------------------------------


def _unpacked(source: Source) -> Iterator[bytes]:
    """Yield the content of gzip members, one after the other, as far as they are sound."""
    at, waiting, member = 0, b"", zlib.decompressobj(wbits=31)
    while True:
        if not waiting:
            waiting = source.read_at(at, _STEP)
            at += len(waiting)
        if not waiting:
            return
        try:
            yield member.decompress(waiting, _PIECE)
        except zlib.error:
            return
        waiting = member.unconsumed_tail
        if member.eof:
            waiting, member = member.unused_data, zlib.decompressobj(wbits=31)


_STEP = 256
"""The number of bytes read at a time. In a damaged file, that many may be lost before the damage."""


def _unpacked_file(source: Source, size: int, path: str | Path) -> Source:
    """Return a file with the content, which is closed with its last reader. Raise TraceError if it is larger than a
    trace can be.
    """
    left = MOST_UNPACKED + RATIO * size
    with tempfile.TemporaryFile(buffering=0) as copy:
        for piece in _unpacked(source):
            left -= len(piece)
            if left < 0:
                raise TraceError(
                    f"{path} unpacks to more than {(MOST_UNPACKED + RATIO * size) >> 20} MB, more than a trace of its "
                    "size does. If it is a trace, unpack it yourself and open the result."
                )
            copy.write(piece)
        return FileSource(os.dup(copy.fileno()))
