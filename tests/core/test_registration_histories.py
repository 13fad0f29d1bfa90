"""Random histories of registrations, through the model's ``torch._C``: everything is what PyTorch made of them.

Recorded by ``truth/recorders/registration_histories.py``; thousands more are compared live in ``tests/conformance``.
"""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import pytest

from dispatchviz import torch
from truth import records
from truth.questions.registration_histories import History, histories

pytestmark = pytest.mark.record("registration_histories")

DATA: dict[str, Any] = records.read("registration_histories")
HISTORIES = histories(0, len(DATA["seen"]))


@pytest.mark.parametrize("number", range(len(HISTORIES)))
def test_everything_is_pytorchs(number: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overriding warns once a process
        assert History(torch._C, number).run(HISTORIES[number]) == DATA["seen"][number], HISTORIES[number]


def test_nothing_of_a_history_stays() -> None:
    assert all(seen["gone"] == ["", ""] for seen in DATA["seen"])


def test_the_histories_reach_everything() -> None:
    """So that the file cannot silently stop asking."""
    verbs = Counter(
        (step[0], error is None)
        for steps, seen in zip(HISTORIES, DATA["seen"], strict=True)
        for step, error in zip(steps, seen["errors"], strict=True)
    )
    assert len(verbs) == 24  # of thirteen verbs two (reset, drop) cannot fail
    assert min(verbs.values()) >= 2
    errors = Counter(error.split(" ")[1] for seen in DATA["seen"] for error in seen["errors"] if error)
    assert len(errors) > 15
    operators = [operator for seen in DATA["seen"] for operator in seen["operators"] if operator]
    assert len(operators) > 100
    assert any(stale for *_, stale in operators)
