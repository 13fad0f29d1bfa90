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
NOT_IN_THE_MODEL: dict[str, str] = {}
"""Programs that the model refuses, with the words that say so."""


def stored() -> dict[str, Any]:
    with gzip.open(STORED, "rt", encoding="utf-8") as stream:
        return json.load(stream)["programs"]  # type: ignore[no-any-return]


PROGRAMS = stored()


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in NOT_IN_THE_MODEL])
def test_the_model_does_the_same(name: str) -> None:
    """Graphs, order, states after each statement, sequence numbers, values, gradients, output, warnings, errors."""
    torch = PROGRAMS[name]
    assert not (found := differing(torch, autograd_record(model, torch["source"], watched_engine))), (
        f"{torch['source']}\n{found}"
    )


@pytest.mark.parametrize("name", NOT_IN_THE_MODEL)
def test_what_is_not_there_is_refused(name: str) -> None:
    error = autograd_record(model, PROGRAMS[name]["source"], watched_engine)["error"]
    assert NOT_IN_THE_MODEL[name] in error[1]


def test_the_records_are_of_these_programs() -> None:
    random = {name: program(int(name.removeprefix("random_"))) for name in PROGRAMS if name.startswith("random_")}
    assert {name: record["source"] for name, record in PROGRAMS.items()} == {**whole(), **table(), **random}
