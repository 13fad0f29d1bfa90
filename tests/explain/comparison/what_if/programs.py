"""Programs run with changes, and texts with the same changes written by hand."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence

from dispatchviz.explain.comparison.what_if.changed_program import changed_program
from dispatchviz.explain.comparison.what_if.changes import read_change
from dispatchviz.running.program import run
from dispatchviz.trace import Trace

FORUM = """\
import torch
device = torch.device("cuda")
x = torch.ones(2, 2).to(device)
y = torch.ones(2).to(device)
x.requires_grad_(True)
z = torch.add(x, y)
z.sum().backward()
"""


def changed(source: str, *typed: str) -> Trace:
    """Return the trace of a program with lines changed, which may raise."""
    changes = [read_change(text) for text in typed]
    return _traced(source, changes)


def written(source: str) -> Trace:
    """Return the trace of an unchanged program."""
    return _traced(source, ())


def _traced(source: str, changes: Sequence[object]) -> Trace:
    text = textwrap.dedent(source).encode()
    return run("-", (), io.StringIO(), text, hashes=True, changed=lambda tree: changed_program(tree, changes)).trace  # type: ignore[arg-type]
