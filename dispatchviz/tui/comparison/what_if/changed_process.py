"""The process of a changed program: it has no keyboard, its output is in its trace, and it can be stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.errors import DispatchvizError
from dispatchviz.explain.comparison.what_if.changed_request import changed_request
from dispatchviz.explain.comparison.what_if.changes import Change

RUNNER = "dispatchviz.cli.changed_run"
"""The module that such a process runs."""


class ChangedProcess:
    """A program that runs again with a change."""

    def __init__(self, trace: Trace, change: Change, run_arguments: Sequence[str]) -> None:
        """Begins it. DispatchvizError if the program is not there to be run."""
        self._folder = tempfile.TemporaryDirectory(prefix="dispatchviz-")
        self._file = str(Path(self._folder.name, "changed.dvtrace"))
        self._stopped = False
        try:
            request = changed_request(trace, change, self._file, run_arguments)
            with open(Path(self._folder.name, "output"), "wb") as output:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", RUNNER, request.encoded()],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,  # Ctrl+C is the stepper's; and all that it begins ends with it
                )
        except BaseException:
            self._folder.cleanup()
            raise

    def result(self) -> Trace | None:
        """Waits for its end; the trace, or None if it was stopped. DispatchvizError if there is no trace."""
        status = self._process.wait()
        try:
            if self._stopped:
                return None
            if not os.path.exists(self._file):
                raise DispatchvizError(f"the changed run left no trace: {self._last_line() or f'status {status}'}")
            return Trace.load(self._file)
        finally:
            self._folder.cleanup()

    def stop(self) -> None:
        """Ends it, if it has not ended."""
        if self._process.poll() is None:
            self._stopped = True
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _last_line(self) -> str:
        text = Path(self._folder.name, "output").read_text("utf-8", "backslashreplace")
        return next((each.removeprefix("dispatchviz: ") for each in reversed(text.splitlines()) if each.strip()), "")
