"""Programs whose screens are hard to lay out, traced once."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from dispatchviz.cli.recorded_values import SMALL
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.running.program import run
from dispatchviz.testing import event
from tests.steps import step

EXAMPLES = Path(__file__).parents[2] / "examples"

ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
LONG_NAMES = [f"{ordinal}_hidden_layer_activations" for ordinal in ORDINALS.split()]

CAT = "\n".join(
    [
        "import torch",
        *(f"{name} = torch.ones(2, requires_grad={name[0] == 'f'})" for name in LONG_NAMES),
        f"combined_activations = torch.cat([{', '.join(LONG_NAMES)}])",
        "combined_activations.sum().backward()",
        "",
    ]
)
"""``torch.cat`` of 13 tensors with long names."""


@cache
def example(name: str) -> Trace:
    """The trace of a file in ``examples``."""
    return run(str(EXAMPLES / name)).trace


@cache
def as_recorded(name: str) -> Trace:
    """The trace of a file in ``examples`` as commands record it: with the numbers of small tensors."""
    return run(str(EXAMPLES / name), **SMALL._asdict()).trace


def forum() -> Trace:
    """The trace of the forum program."""
    return example("forum.py")


@cache
def cat() -> Trace:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cat.py"
        path.write_text(CAT)
        return run(str(path)).trace


def the_call(trace: Trace, operator: str) -> int:
    """The step of the first call of an operator."""
    return step(trace, event(ev.Dispatched, operator=operator))
