"""Runs on an installed PyTorch in a process of their own: a program leaves settings, modules and numbers behind there
that would change the next run. ``changed_run.py`` is the process.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dispatchviz.cli.input_source import standard_input
from dispatchviz.explain.comparison.what_if.changed_request import ChangedRequest
from dispatchviz.foundation.child_processes import ended_together, running
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.running.program_source import STANDARD_INPUT
from dispatchviz.trace import Trace
from dispatchviz.tui.comparison.what_if.changed_process import RUNNER, ended


def run_apart(program: str, args: Sequence[str], cuda: str, text: str = "", changes: Sequence[str] = ()) -> Trace:
    """Run a file, or another text in its place, with changes, on the installed PyTorch; return the trace.

    The output goes to stderr. Raise DispatchvizError if there is no trace.
    """
    given = standard_input() if program == STANDARD_INPUT and not text else None
    with tempfile.TemporaryDirectory(prefix="dispatchviz-", ignore_cleanup_errors=True) as folder:
        request = ChangedRequest(
            kind="file",
            program=program,
            arguments=tuple(args),
            changes=tuple(changes),
            cuda=cuda,
            only=(),
            hashes=True,
            values=None,
            save=str(Path(folder) / "run.dvtrace"),
            engine="torch",
            text=text,
        )
        asked = Path(folder) / "request.json"
        asked.write_text(request.encoded(), "utf-8")
        return _trace_of(request, asked, given)


def _trace_of(request: ChangedRequest, asked: Path, given: bytes | None) -> Trace:
    sys.stdout.flush()
    given_as = None if given is None else subprocess.PIPE
    process = subprocess.Popen(running(RUNNER, [str(asked)]), stdin=given_as, stdout=sys.__stderr__)
    with ended_together(process):
        process.communicate(given)
    if Path(request.save).exists():
        return Trace.load(request.save)
    if process.returncode == DispatchvizError.status:
        raise SystemExit(process.returncode)  # the process printed why
    raise DispatchvizError(f"the run of {request.program} left no trace: {ended(process.returncode)}")
