"""Where the texts of known messages are shown: in a diagnosis, at the error's step, to a search."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.diagnosis.diagnose import diagnoses
from dispatchviz.explain.kinds.all_kinds import rule, why_here
from tests.explain.diagnosis.cases import traced
from tests.steps import all_hits

TWICE = """
import torch
w = torch.ones(2, requires_grad=True)
loss = (w * w).sum()  # not for a second time
loss.backward()
loss.backward()
"""

NO_PARAMETERS = """
import torch
torch.optim.SGD(torch.nn.ReLU().parameters(), lr=0.1)
"""


def test_an_error_without_a_rule_of_its_own_gets_the_general_cause_and_fix() -> None:
    (found,) = diagnoses(traced(NO_PARAMETERS))
    assert found.why.startswith("The program raised ValueError on line 2 (torch.optim.SGD(")
    assert "its layers are in a plain list or dict" in found.why
    assert "nn.ModuleList" in found.fixes[0]
    assert found.says == "optimizer got an empty parameter list"


def test_an_unknown_error_gets_its_line_alone() -> None:
    (found,) = diagnoses(traced("import torch\nx = torch.ones(2)\nraise KeyError('x')"))
    assert (found.why, found.fixes) == ("The program raised KeyError on line 3 (raise KeyError('x')).", ())


def test_the_step_of_the_error_says_the_cause() -> None:
    trace = traced(TWICE)
    raised = next(event for event in trace if isinstance(event, ev.ErrorRaised))
    assert "The Nodes released their saved variables" in why_here(trace, raised.seq)
    assert rule(raised).text.startswith("The Nodes released their saved variables")


@pytest.mark.parametrize(
    "query", ["second time", "released their saved variables", "retain_graph=True only", "detach()"]
)
def test_a_search_finds_the_error_by_its_message_its_cause_and_its_fix(query: str) -> None:
    trace = traced(TWICE)
    kinds = {type(trace[step]) for step in all_hits(trace, query)}
    assert {ev.ErrorRaised, ev.ProgramRaised} <= kinds
