"""The model against what real PyTorch did with the same programs, from the stored records."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from scripts.close import close
from tests import truth
from tests.model_runs import model_record

DIFFERENT_INSIDE: dict[str, str] = {}
"""Programs whose logs are known to differ from PyTorch's, with the reason; ``docs/differences.md`` lists them."""

LEAST_SHARE = 0.98
"""Of PyTorch's dispatch steps over all programs, how many the model has to meet in PyTorch's order."""

PROGRAMS: dict[str, Any] = truth.stored()["programs"]


@functools.cache
def record(name: str) -> dict[str, Any]:
    return model_record(PROGRAMS[name]["source"])


@pytest.fixture(params=list(PROGRAMS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_dispatch_step(name: str) -> None:
    """Depth, operator, key, raw key set, the thread's sets, call or redispatch, and in which Node: all the way."""
    if PROGRAMS[name]["log"] is None:
        pytest.skip("it calls operators on the meta device inside, which were not watched")
    difference = truth.difference(name, *logs(name))
    if name in DIFFERENT_INSIDE:
        assert difference, f"{name} no longer differs: take it off the list"
    else:
        assert not difference, difference


def logs(name: str) -> tuple[list[str], list[str]]:
    """PyTorch's and the model's steps."""
    return truth.log_texts(PROGRAMS[name]["log"]), truth.log_texts(record(name)["log"])


def test_share_of_steps_met_in_order() -> None:
    """Programs that the model refuses count with what it did until then; shown with ``-rA``."""
    watched = [name for name, torch in PROGRAMS.items() if torch["log"] is not None]
    steps = sum(len(PROGRAMS[name]["log"]) for name in watched)
    met = sum(truth.met_in_order(*logs(name)) for name in watched)
    print(f"{met} of PyTorch's {steps} dispatch steps in {len(watched)} programs are met in order: {met / steps:.2%}")
    assert met >= LEAST_SHARE * steps


def test_autograd_state_after_every_statement(name: str) -> None:
    torch, model = truth.fact_texts(PROGRAMS[name]["facts"]), truth.fact_texts(record(name)["facts"])
    assert not (difference := truth.difference(name, torch, model)), difference


def test_backward_graphs_and_order(name: str) -> None:
    torch, model = PROGRAMS[name]["graphs"], record(name)["graphs"]
    difference = truth.difference(name, truth.graph_texts(torch), truth.graph_texts(model))
    assert not difference, difference
    assert close(torch, model), f"{name}: the saved tensors hold other numbers\n{torch}\n{model}"


def test_values_and_grads(name: str) -> None:
    for part in ("values", "grads"):
        torch, model = PROGRAMS[name][part], record(name)[part]
        assert close(torch, model), f"{name}: other {part}\nPyTorch {torch}\nmodel   {model}"


def test_how_it_ends(name: str) -> None:
    for part in ("error", "warnings", "output"):
        assert record(name)[part] == PROGRAMS[name][part]


def test_sequence_numbers_taken(name: str) -> None:
    assert record(name)["sequence_numbers"] == PROGRAMS[name]["sequence_numbers"]
