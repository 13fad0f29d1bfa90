"""Check that a step has things with questions wherever its sentence names a tensor or a Node, over stored programs."""

from __future__ import annotations

import re

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import statements
from dispatchviz.explain.things.step_things import things_of
from dispatchviz.explain.things.thing import NodeThing, TensorThing
from tests.amounts import amount, some
from tests.explain.programs import traced
from tests.steps import step
from truth import records

NUMBERED = re.compile(r"\bt\d+\b|\(n\d+\)")
PROGRAMS = records.programs()
NAMES = [name for name, subject in PROGRAMS.subjects.items() if subject not in ("modes", "printing")]


def variable(trace: Trace, name: str) -> TensorThing:
    return TensorThing(next(e.tensor for e in reversed(trace) if isinstance(e, ev.NameBound) and e.name == name))


def test_warning_and_end_have_the_variables_that_they_name() -> None:
    trace = traced("""\
        import warnings
        import torch
        y = torch.ones(2, requires_grad=True)
        warnings.simplefilter("always")
        warnings.warn("y is odd")
        raise ValueError("y is wrong")
    """)
    for kind in (ev.Warned, ev.ProgramRaised):
        assert variable(trace, "y") in things_of(trace, step(trace, kind))


def test_line_that_only_reads_a_variable_has_it() -> None:
    trace = traced("import torch\na = torch.ones(2)\nprint(a.shape)\n")
    assert things_of(trace, step(trace, ev.SourceLine, 2)) == [variable(trace, "a")]


def test_counting_step_has_the_counted_nodes() -> None:
    trace = traced("import torch\nx = torch.ones(2, requires_grad=True)\n(x * 2).sum().backward()\n")
    counted = things_of(trace, step(trace, ev.DependenciesCounted))
    made = {event.node for event in trace if isinstance(event, ev.NodeCreated)}
    assert {thing.number for thing in counted if isinstance(thing, NodeThing)} <= made
    assert sum(isinstance(thing, NodeThing) for thing in counted) >= 2


def test_sentence_without_names_has_no_things() -> None:
    trace = traced("import torch\nx = torch.ones(2)\nprint()\n")
    assert things_of(trace, step(trace, ev.KernelSelected)) == []


@pytest.mark.parametrize("name", some(NAMES, max(len(NAMES) // amount(5, 200), 1)))
def test_no_kind_of_event_names_a_number_without_a_thing(name: str) -> None:
    source = PROGRAMS[name]["source"]
    trace = traced(source) if "threading" not in source else traced("import torch\n")
    printed = (ev.Printed, ev.SourceLine)
    for at in range(len(trace)):
        if isinstance(trace[at], printed) or things_of(trace, at):
            continue
        text = " ".join(statement.text for statement in statements(trace, at))
        assert not NUMBERED.search(text), (at, text)
