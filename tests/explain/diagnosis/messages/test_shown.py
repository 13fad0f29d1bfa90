"""Tests of the places that show the texts of known messages: a diagnosis, the step of the error, a search."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.diagnosis.diagnose import diagnoses
from dispatchviz.explain.kinds.all_kinds import rule
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


def test_error_without_a_rule_gets_the_general_cause_and_fix() -> None:
    (found,) = diagnoses(traced(NO_PARAMETERS))
    assert "raised ValueError on line 2 (torch.optim.SGD(" in found.why or "Line 2 (torch.optim.SGD(" in found.why
    assert "its layers are in a plain list or dict" in found.why
    assert "nn.ModuleList" in found.fixes[0]
    assert found.says == "optimizer got an empty parameter list"


def test_step_of_the_error_shows_the_general_cause() -> None:
    raised = next(event for event in traced(TWICE) if isinstance(event, ev.ErrorRaised))
    assert rule(raised).text.startswith("The Nodes released their saved tensors")


@pytest.mark.parametrize("query", ["second time", "released their saved tensors", "retain_graph=True only", "detach()"])
def test_search_finds_an_error_by_message_cause_and_fix(query: str) -> None:
    trace = traced(TWICE)
    kinds = {type(trace[step]) for step in all_hits(trace, query)}
    assert {ev.ErrorRaised, ev.ProgramRaised} <= kinds
