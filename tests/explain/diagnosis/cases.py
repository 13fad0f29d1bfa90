"""A program with its diagnosis, run on the model and on an installed PyTorch; and the program with the fix in it."""

from __future__ import annotations

import io
import textwrap
from typing import NamedTuple

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnose import diagnoses
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.running.engines import engine_named
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code


class Case(NamedTuple):
    """A program and what its first diagnosis must have."""

    name: str
    source: str
    kind: str
    why: tuple[str, ...]
    """Parts of the cause: names, lines, Nodes."""
    tries: str
    """A part of the first fix."""
    fixed: str = ""
    """The program with that fix in it: it has no diagnosis, and PyTorch runs it."""
    torch_kind: str = ""
    """The kind on an installed PyTorch, if its recording sees less."""
    torch_why: tuple[str, ...] | None = None
    """Parts of the cause there; the same if None."""


def traced(source: str, engine: str = "model") -> Trace:
    """The trace of a program given as text."""
    text = textwrap.dedent(source).strip() + "\n"
    try:
        return run(
            Code(text), output=io.StringIO(), engine=engine_named("torch" if engine == "torch" else "model")
        ).trace
    finally:
        if engine == "torch":
            _as_before()


def _as_before() -> None:
    """Switches that a program leaves on in an installed PyTorch are those of the next test, too."""
    import torch

    torch.autograd.set_detect_anomaly(False)
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)


def check(case: Case, engine: str) -> Diagnosis:
    """Assert that a program has the diagnosis, and none with the fix."""
    first = diagnoses(traced(case.source, engine))[0]
    on_torch = engine == "torch"
    assert first.kind == (case.torch_kind if on_torch and case.torch_kind else case.kind), first
    for part in case.torch_why if on_torch and case.torch_why is not None else case.why:
        assert part in first.why, first.why
    assert case.tries in (first.fixes[0] if first.fixes else "")
    if case.fixed:
        assert diagnoses(traced(case.fixed, engine)) == ()
    return first
