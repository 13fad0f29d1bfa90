"""Programs given as text, run on the model."""

from __future__ import annotations

import io
import tempfile
import textwrap
from pathlib import Path

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.running.program import run


def traced(source: str) -> Trace:
    """The trace of a program."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(textwrap.dedent(source), encoding="utf-8")
        return run(str(script), (), io.StringIO()).trace
