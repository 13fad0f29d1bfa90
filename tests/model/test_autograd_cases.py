"""The model's autograd compared with records of some 900 programs in PyTorch, more than a third of them random."""

from __future__ import annotations

import pytest

from dispatchviz import torch as model
from tests.model_runs import watched_engine
from truth import records
from truth.observers.autograd import autograd_record, differing
from truth.questions.autograd_cases import table, whole
from truth.questions.autograd_programs import program

PROGRAMS = records.read_programs("autograd_cases")

pytestmark = pytest.mark.record("autograd_cases")


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_matches_its_record(name: str) -> None:
    """Compare graphs, order, states, sequence numbers, values, gradients, output, warnings and errors."""
    torch = PROGRAMS[name]
    assert not (found := differing(torch, autograd_record(model, torch["source"], watched_engine))), (
        f"{torch['source']}\n{found}"
    )


def test_records_have_the_current_programs() -> None:
    random = {name: program(int(name.removeprefix("random_"))) for name in PROGRAMS if name.startswith("random_")}
    assert {name: PROGRAMS[name]["source"] for name in PROGRAMS} == {**whole(), **table(), **random}
