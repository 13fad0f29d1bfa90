"""A process with a terminal of its own, whose screen and keyboard are a browser.

Textual's own driver for browsers shows one application and then closes. Here one screen follows another, and programs
print between them, so the process gets an ordinary terminal.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import shutil
import signal
import struct
import tempfile
import termios
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress

from dispatchviz.foundation.terminal_output import complain
from dispatchviz.tui.terminal.ending import FAILED

LARGEST = 1000
"""The most columns or rows of a terminal."""

CHUNK = 1 << 16
"""The most bytes that are read at once."""

PATIENCE = 3.0
"""Seconds for a process to end before it is killed."""

FOLDERS = ("XDG_CACHE_HOME", "XDG_STATE_HOME", "TMPDIR")
"""Environment variables that name folders for files; in a session they name its own folder."""

NOT_PASSED_ON = ("DISPLAY", "WAYLAND_DISPLAY", "PAGER", "LESS", "NO_COLOR", "COLUMNS", "LINES")
"""Environment variables about the terminal and the screen of the person who serves."""

OF_A_SESSION = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONBREAKPOINT": "0"}
"""Environment variables that describe the browser's terminal, and disable ``breakpoint()``, which would open Python to
readers.
"""


class TerminalProcess:
    """The process of one session. Its files are deleted when it ends."""

    def __init__(self, process: asyncio.subprocess.Process, screen: int, folder: str) -> None:
        self.process, self._screen, self.folder = process, screen, folder
        self._ended = False

    @classmethod
    async def begin(
        cls, command: Sequence[str], environment: Mapping[str, str], size: tuple[int, int]
    ) -> TerminalProcess:
        """Start the process. Raise OSError if that fails."""
        folder = tempfile.mkdtemp(prefix="dispatchviz-session-")
        screen, terminal = pty.openpty()
        try:
            _resize(screen, *size)
            os.set_blocking(screen, False)
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=terminal,
                stdout=terminal,
                stderr=terminal,
                env=_environment(environment, folder),
                start_new_session=True,
            )
        except OSError:
            os.close(screen)
            shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            os.close(terminal)
        return cls(process, screen, folder)

    async def output(self) -> AsyncIterator[bytes]:
        """Yield the process's output until it ends."""
        while True:
            await self._when(asyncio.get_running_loop().add_reader, asyncio.get_running_loop().remove_reader)
            try:
                painted = os.read(self._screen, CHUNK)
            except BlockingIOError:
                continue
            except OSError:  # no process has the terminal open
                return
            if not painted:
                return
            yield painted

    async def type(self, typed: bytes) -> None:
        """Pass typed keys on, as fast as the process reads them."""
        left = memoryview(typed)
        while left and not self._ended:
            try:
                left = left[os.write(self._screen, left) :]
            except BlockingIOError:
                await self._when(asyncio.get_running_loop().add_writer, asyncio.get_running_loop().remove_writer)
            except OSError:
                return

    def resize(self, width: int, height: int) -> None:
        """Give the terminal the size of the browser's window."""
        if not self._ended:
            with suppress(OSError):
                _resize(self._screen, width, height)

    async def end(self) -> None:
        """End the process and its children, by a hang-up that it may handle, then by force. May be called again."""
        if self._ended:
            return
        self._ended = True
        try:
            self._signal(signal.SIGHUP)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.process.wait(), PATIENCE)
        finally:
            self._signal(signal.SIGKILL)
            asyncio.get_running_loop().remove_reader(self._screen)
            os.close(self._screen)
        if await self.process.wait() == FAILED:
            complain(f"a session failed; its report is in {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    async def _when(self, add: Callable[..., None], remove: Callable[[int], bool]) -> None:
        """Wait until the terminal can be read or written."""
        ready = asyncio.get_running_loop().create_future()
        add(self._screen, lambda: None if ready.done() else ready.set_result(None))
        try:
            await ready
        finally:
            remove(self._screen)


def _environment(given: Mapping[str, str], folder: str) -> dict[str, str]:
    kept = {name: value for name, value in given.items() if name not in NOT_PASSED_ON}
    return kept | dict.fromkeys(FOLDERS, folder) | OF_A_SESSION


def _resize(screen: int, width: int, height: int) -> None:
    columns, rows = (min(max(number, 1), LARGEST) for number in (width, height))
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
