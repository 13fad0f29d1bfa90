"""Textual's terminal driver, changed for cases in which it would hang or leave the terminal in a wrong state.

The differences: Bytes that are not UTF-8 are skipped (they would end the stepper). Output to a terminal that is gone is
dropped (it would wait forever for space in its queue). Signals that suspend and resume the process wait until nothing
else is running. A process that was stopped by SIGSTOP finds the terminal in the shell's state: it takes it over again,
and at the end restores the state that it found first.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import suppress

from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver


class TerminalDriver(LinuxDriver):
    """The driver with these changes."""

    _painting = False
    """True while the stepper controls the terminal."""

    def write(self, data: str) -> None:
        if self._writer_thread is not None and self._writer_thread.is_alive():
            super().write(data)

    def start_application_mode(self) -> None:
        self._file = PatientFile()  # type: ignore[assignment]
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._painting = True

    def stop_application_mode(self) -> None:
        super().stop_application_mode()
        self._painting = False

    def disable_input(self) -> None:
        """Do the same as Textual's method, but keep typed input for the next application."""
        if self._key_thread is not None and self._key_thread.is_alive():
            signal.signal(signal.SIGWINCH, signal.SIG_DFL)
            self._disable_mouse_support()
            self.exit_event.set()
            self._key_thread.join()
            self.exit_event.clear()
        with suppress(OSError, UnicodeDecodeError):
            self._read_pending_input()

    def _read_pending_input(self) -> None:
        """Read the pending input: keys go to the application, mouse reports are dropped."""
        while select.select([self.fileno], [], [], 0)[0] and (typed := os.read(self.fileno, 4096)):
            for event in XTermParser().feed(typed.decode()):
                if isinstance(event, events.Key | events.Paste):
                    self._app.post_message(event)

    def _sigtstp_application(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(super()._sigtstp_application)

    def _sigcont_application(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._continued)

    def _continued(self) -> None:
        if self._painting and self._auto_restart:
            self.suspend_application_mode()
            self._must_signal_resume = True
        super()._sigcont_application()

    def run_input_thread(self) -> None:
        while not self.exit_event.is_set():
            try:
                super().run_input_thread()
            except UnicodeDecodeError:
                continue
            except OSError:  # the terminal is gone: `terminal.end_if_gone`
                return


class PatientFile:
    """The error stream, on which Textual paints. Output that cannot be written is lost."""

    def __init__(self) -> None:
        assert sys.__stderr__ is not None  # `terminal.can_run` has checked this
        self._stream = sys.__stderr__

    def write(self, text: str) -> None:
        """Write to the stream as a file does."""
        with suppress(OSError, ValueError):
            self._stream.write(text)

    def flush(self) -> None:
        """Flush the stream as a file does."""
        with suppress(OSError, ValueError):
            self._stream.flush()

    def fileno(self) -> int:
        """Return the file descriptor as a file does."""
        return self._stream.fileno()
