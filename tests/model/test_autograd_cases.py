"""The model's autograd against what real PyTorch did with some 900 programs, a good third of them random."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dispatchviz import torch as model
from scripts.autograd_cases import table, whole
from scripts.autograd_record import autograd_record, differing
from tests.conformance.autograd_programs import program
from tests.model_runs import watched_engine

STORED = Path(__file__).parent.parent / "data" / "autograd_cases.json.gz"


def stored() -> dict[str, Any]:
    with gzip.open(STORED, "rt", encoding="utf-8") as stream:
        return json.load(stream)["programs"]  # type: ignore[no-any-return]


PROGRAMS = stored()


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_model_does_the_same(name: str) -> None:
    """Graphs, order, states after each statement, sequence numbers, values, gradients, output, warnings, errors."""
    torch = PROGRAMS[name]
    assert not (found := differing(torch, autograd_record(model, torch["source"], watched_engine))), (
        f"{torch['source']}\n{found}"
    )


def test_the_records_are_of_these_programs() -> None:
    random = {name: program(int(name.removeprefix("random_"))) for name in PROGRAMS if name.startswith("random_")}
    assert {name: record["source"] for name, record in PROGRAMS.items()} == {**whole(), **table(), **random}
