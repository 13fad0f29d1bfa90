"""The process of a changed program. It has no keyboard, its output is recorded in its trace, and it can be stopped."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.what_if.changed_request import changed_request
from dispatchviz.explain.comparison.what_if.changes import Change
from dispatchviz.foundation.child_processes import running
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.process_ties import kill_tree

RUNNER = "dispatchviz.cli.changed_run"
"""The module that the process runs."""


class ChangedProcess:
    """A program that runs again with a change, in a temporary folder that is deleted when it ends or is stopped."""

    def __init__(self, trace: Trace, change: Change, run_arguments: Sequence[str]) -> None:
        """Start the process. Raise DispatchvizError if the program no longer exists or no process can be started."""
        self._stopped = False
        with _as_our_error("cannot start the changed run"):
            self._temporary = tempfile.TemporaryDirectory(prefix="dispatchviz-", ignore_cleanup_errors=True)
            self._folder = Path(self._temporary.name)
            try:
                self._process = self._begun(trace, change, run_arguments)
            except BaseException:
                self._temporary.cleanup()
                raise

    def _begun(self, trace: Trace, change: Change, run_arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        request = changed_request(trace, change, str(self._folder / TRACE), run_arguments)
        asked = self._folder / "request.json"
        asked.write_text(request.encoded(), "utf-8")
        with open(self._folder / OUTPUT, "wb") as output:
            return subprocess.Popen(
                running(RUNNER, [str(asked)]),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl+C belongs to the stepper
            )

    def result(self) -> Trace | None:
        """Wait for the end and return the trace, or None if the process was stopped. Raise DispatchvizError if there is
        no trace.
        """
        status = self._process.wait()
        try:
            with _as_our_error("cannot read the changed run"):
                return self._trace(status)
        except DispatchvizError:
            if self._stopped:  # its files were deleted while they were read
                return None
            raise
        finally:
            self._temporary.cleanup()

    def _trace(self, status: int) -> Trace | None:
        file = self._folder / TRACE
        if self._stopped:
            return None
        if not file.exists():
            raise DispatchvizError(f"the changed run left no trace: {self._last_line() or ended(status)}")
        return Trace.load(file)

    def stop(self) -> None:
        """Stop the process if it still runs, and delete its files."""
        self._stopped = True
        if self._process.poll() is None:
            kill_tree(self._process.pid)
            self._process.wait()
        self._temporary.cleanup()

    def _last_line(self) -> str:
        text = (self._folder / OUTPUT).read_text("utf-8", "backslashreplace")
        return next((each.removeprefix("dispatchviz: ") for each in reversed(text.splitlines()) if each.strip()), "")


TRACE, OUTPUT = "changed.dvtrace", "output"
"""The names of its files."""


def ended(status: int) -> str:
    """Return how a process without output ended, in words."""
    if status >= 0:
        return f"exit status {status}"
    with suppress(ValueError):
        return f"ended by {signal.Signals(-status).name}"
    return f"ended by signal {-status}"


@contextmanager
def _as_our_error(what: str) -> Iterator[None]:
    """Raise errors of the operating system as a DispatchvizError of one line."""
    try:
        yield
    except OSError as error:
        raise DispatchvizError(f"{what}: {error.strerror or error}") from None
