"""A program that runs in this process on the model and on the installed PyTorch."""

from __future__ import annotations

from io import StringIO

from dispatchviz.explain.comparison.checked import Checked, checked_traces
from dispatchviz.running.engines import engine_named
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code
from dispatchviz.running.recording import EngineName
from dispatchviz.trace import Trace


def recorded(program: str, engine: EngineName) -> Trace:
    """Record a program, which must not fail."""
    outcome = run(Code(program), output=StringIO(), engine=engine_named(engine))
    assert outcome.error is None
    return outcome.trace


def on_both(program: str) -> Checked:
    """Compare the recordings of both engines, as ``check`` does.

    The program makes no Nodes: PyTorch continues to number them where the last program ended.
    """
    return checked_traces(recorded(program, "model"), recorded(program, "torch"))
