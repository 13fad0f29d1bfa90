"""Registrations commute and can be undone: every order gives what PyTorch makes of the registrations that are there.

PyTorch tests itself so; its answers are recorded by ``truth/recorders/registration_histories.py``.
"""

from __future__ import annotations

from typing import Any

import pytest

from dispatchviz import torch
from tests.core.test_registration_histories import DATA
from truth.questions.registration_orders import CASES, every_order

pytestmark = pytest.mark.record("registration_histories")

ORDERS: dict[str, dict[str, Any]] = DATA["orders"]


def test_every_case_is_recorded() -> None:
    assert list(ORDERS) == list(CASES)


@pytest.mark.parametrize("name", list(CASES))
def test_every_order_gives_what_pytorch_has(name: str) -> None:
    expected = ORDERS[name]
    reached = set()
    for there, seen in every_order(torch._C, CASES[name]):
        assert seen == expected[there], there
        reached.add(there)
    assert reached == set(expected)
