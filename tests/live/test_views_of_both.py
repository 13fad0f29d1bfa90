"""The views of a recording of an installed PyTorch and of the model, at the same steps of the same program.

``DIFFERENT`` lists the views that differ, each with the reason. All others are equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from io import StringIO

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.outputs.step.step_text import LOG, view_names, view_text
from dispatchviz.running.engines import engine_named
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code
from dispatchviz.running.recording import EngineName
from dispatchviz.trace import Trace
from tests.live.live_programs import PROGRAMS

pytestmark = pytest.mark.torch

REGISTRATIONS = "the entries and registrations are those of the installed build, not of the model's build"
ORDER = "the steps of a Node come after the calls that its kernel makes"
BINDING = "the Python bindings are not seen"

DIFFERENT = {
    "why": "a last line says how the step is known",
    "calls": BINDING,
    "stack": BINDING,
    "source": "there is no code of ours to show",
    "graph": ORDER,
    "thread": "inference mode and autocast are not seen, and grad mode only at calls",
    "tensors": "versions are not seen",
    "things": "writes appear as calls, and Nodes do not report that they free what they saved",
    "structured": "a structured kernel calls its meta and impl functions itself",
    "memory": "it is not seen when a graph that does not run is freed",
    "node": "ownership, anomaly mode and execution are not seen",
    "engine": "the engine does not show its queue, its buffers and its counts",
    "table": REGISTRATIONS,
    "registration": REGISTRATIONS,
    "then-and-now": "statements belong to events that are not seen",
    "because": "reasons belong to events that are not seen",
}
"""The views that differ at a step of ``STEPS``, with the reason."""

STEPS: dict[str, Callable[[ev.AnyEvent], bool]] = {
    "a line": lambda event: isinstance(event, ev.SourceLine) and event.line == 5,
    "a call": lambda event: isinstance(event, ev.Dispatched) and event.operator == "aten::add.Tensor",
    "a key set": lambda event: isinstance(event, ev.KeySetComputed) and len(event.arguments) == 2,
    "a kernel": lambda event: isinstance(event, ev.KernelEntered) and event.kernel == "wrapper_CPU_add_Tensor",
    "a Node": lambda event: isinstance(event, ev.NodeStarted) and event.name == "MulBackward0",
    "a gradient": lambda event: isinstance(event, ev.GradientAccumulated),
    "output": lambda event: isinstance(event, ev.Printed),
}


def recorded(engine: EngineName) -> Trace:
    return run(Code(PROGRAMS["founding"]), output=StringIO(), engine=engine_named(engine), values=16).trace


def texts(trace: Trace, at: int) -> dict[str, str]:
    """Return the views of a step without numbers, because steps have other numbers."""
    views = (name for name in view_names() if name != LOG)
    return {name: re.sub(r"\d+|  +", "N", view_text(trace, at, name)) for name in views}


def test_views_differ_only_where_a_release_build_shows_less() -> None:
    torch, model = recorded("torch"), recorded("model")
    different = set()
    for chosen in STEPS.values():
        here, there = [next(event.seq for event in trace if chosen(event)) for trace in (torch, model)]
        other = texts(model, there)
        different |= {name for name, text in texts(torch, here).items() if text != other[name]}
    assert different == set(DIFFERENT)
