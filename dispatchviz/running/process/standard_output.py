"""Notices of the text that a program writes to its standard output, at the moment of writing. The stream stays Python's
own object, with its type, encoding and buffers.

The stream and its buffer get a ``write`` of their own in the namespace of the instance, where ``print`` looks too.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any, TextIO

from dispatchviz.core.seam.outside_errors import own_errors_suppressed


@contextmanager
def reporting_writes(stream: TextIO | None, report: Callable[[str], Any]) -> Iterator[Callable[[], None]]:
    """Call ``report`` with each text that is written to a stream, inside the block. Yield a function that ends this at
    once.
    """
    if stream is None:  # there is no descriptor 1
        yield lambda: None
        return
    writes = _Writes(stream, report)
    try:
        yield writes.stop
    finally:
        writes.stop()


def report_writes(stream: TextIO | None, report: Callable[[str], Any]) -> None:
    """Call ``report`` with each text that is written to a stream, until the process ends."""
    if stream is not None:
        _Writes(stream, report)


@contextmanager
def reporting_before_writes(stream: TextIO | None, report: Callable[[str], Any]) -> Iterator[None]:
    """Call ``report`` before each write to a stream with its text, and with an empty text before a flush, inside the
    block.
    """
    if stream is None or not hasattr(stream, "__dict__"):
        yield
        return
    own, names = vars(stream), ("write", "flush")
    before = {name: own[name] for name in names if name in own}
    write, flush = stream.write, stream.flush

    def reporting_write(text: str, /) -> int:
        report(text if isinstance(text, str) else "")
        return write(text)

    def reporting_flush() -> None:
        report("")
        flush()

    own.update(write=reporting_write, flush=reporting_flush)
    try:
        yield
    finally:
        for name in names:
            own.pop(name, None)
        own.update(before)


class _Writes:
    def __init__(self, stream: TextIO, report: Callable[[str], Any]) -> None:
        self._stream: Any = stream
        self._buffer: Any = getattr(stream, "buffer", None) if os.linesep == "\n" else None
        self._report = report
        self._lock = threading.RLock()
        self._pending = bytearray()
        """The encoded text that the stream holds back. It arrives a second time when the buffer receives it."""
        self._write = stream.write
        vars(stream)["write"] = self.text
        if self._buffer is not None:
            self._write_bytes = self._buffer.write
            vars(self._buffer)["write"] = self.bytes

    def stop(self) -> None:
        """Restore the stream and its buffer."""
        for part in (self._stream, self._buffer):
            if part is not None:
                vars(part).pop("write", None)

    def text(self, text: str, /) -> int:
        """Replace the stream's ``write``."""
        with self._lock:
            if self._buffer is not None:
                with own_errors_suppressed(
                    ValueError, AttributeError, TypeError, LookupError
                ):  # the stream itself says so
                    self._pending += text.encode(self._stream.encoding, self._stream.errors)
            written = self._write(text)
            self._report(text)
            return written

    def bytes(self, data: Any, /) -> int:
        """Replace the buffer's ``write``, which receives the program's own bytes, or text that was reported before."""
        with self._lock:
            if self._pending and self._pending.startswith(bytes(data)):
                del self._pending[: len(data)]
                return int(self._write_bytes(data))
            written = int(self._write_bytes(data))
            self._pending.clear()
            self._report(bytes(data).decode(sys.getdefaultencoding(), "surrogateescape"))
            return written


@contextmanager
def on_stderr() -> Iterator[None]:
    """Send standard output to stderr inside the block, for the program, its child processes and ``os.write``."""
    stdout: Any = sys.stdout
    if stdout is None:
        yield
    elif not _is_descriptor_1(stdout):
        with redirect_stdout(sys.stderr):
            yield
    else:
        with _descriptor_1_is_2():
            lines = stdout.line_buffering
            stdout.reconfigure(line_buffering=True)  # keeps the order of the output on stderr
            yield
            with suppress(ValueError):  # the program closed it
                stdout.reconfigure(line_buffering=lines)


def _is_descriptor_1(stream: Any) -> bool:
    try:
        return bool(stream.fileno() == 1) and hasattr(stream, "reconfigure")
    except (OSError, ValueError, AttributeError):
        return False


@contextmanager
def _descriptor_1_is_2() -> Iterator[None]:
    stdout = sys.stdout
    how: dict[str, Any] = {"encoding": stdout.encoding, "errors": stdout.errors, "closefd": False}
    stdout.flush()
    saved = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:  # descriptor 2 is closed too
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        yield
    finally:
        left = _flushed(stdout)
        os.dup2(saved, 1)
        os.close(saved)
        if not left:
            sys.stdout = open(1, "w", **how)  # noqa: SIM115


def _flushed(stream: TextIO) -> bool:
    """Return whether a stream holds nothing back and can be used again."""
    try:
        stream.flush()
    except (OSError, ValueError):
        return False
    return not stream.closed
