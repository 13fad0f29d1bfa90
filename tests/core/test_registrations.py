"""Random histories of registrations, and every order, give the same tables as PyTorch."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import pytest

from dispatchviz import torch
from dispatchviz.core.kernel.kernel_function import Kernel
from truth import records
from truth.questions.registration_histories import History, histories
from truth.questions.registration_orders import CASES, every_order

pytestmark = pytest.mark.record("registration_histories")

DATA: dict[str, Any] = records.read("registration_histories")
HISTORIES = histories(0, len(DATA["seen"]))


@pytest.mark.parametrize("number", range(len(HISTORIES)))
def test_tables_after_each_history_equal_pytorchs(number: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overriding warns once a process
        assert History(torch._C, number).run(HISTORIES[number]) == DATA["seen"][number], HISTORIES[number]


def test_history_leaves_nothing_behind() -> None:
    assert all(seen["gone"] == ["", ""] for seen in DATA["seen"])


def test_histories_cover_all_operations() -> None:
    """Check that the file does not silently lose cases."""
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


ORDERS: dict[str, dict[str, Any]] = DATA["orders"]


def test_every_case_is_recorded() -> None:
    assert list(ORDERS) == list(CASES)


@pytest.mark.parametrize("name", list(CASES))
def test_every_order_gives_pytorchs_tables(name: str) -> None:
    expected = ORDERS[name]
    reached = set()
    for there, seen in every_order(torch._C, CASES[name]):
        assert seen == expected[there], there
        reached.add(there)
    assert reached == set(expected)


@pytest.mark.parametrize(
    ("place", "file"),
    [
        ("registered at /home/ada/my shop/prices.py:4", "/home/ada/my shop/prices.py"),
        ("registered at build/aten/src/ATen/RegisterCPU_0.cpp:1595", "build/aten/src/ATen/RegisterCPU_0.cpp"),
        ("registered by RegisterOperators", ""),
    ],
)
def test_file_of_a_kernel_is_the_whole_place_without_its_line(place: str, file: str) -> None:
    assert Kernel("prices", None, place).file == file
