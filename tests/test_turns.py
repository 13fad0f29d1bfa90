"""Which tests a run of the gate leaves out, so that each has its turn."""

from __future__ import annotations

import pytest

from tests import amounts
from tests.amounts import TURNS, not_in_turn

NAMES = [f"{place}test_{at}" for place in TURNS for at in range(4)] + ["tests/core/test_keys.py::test_cpu"]


def waiting(turn: int, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    monkeypatch.setattr(amounts, "code_turn", lambda: turn)
    return not_in_turn(NAMES)


def test_who_waits_now_is_tested_in_another_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amounts, "THOROUGH", False)
    each = [waiting(turn, monkeypatch) for turn in range(max(TURNS.values()))]
    assert all(each)
    assert not set.intersection(*each)
    assert not set.union(*each) - {name for name in NAMES if name.startswith(tuple(TURNS))}


def test_nobody_waits_in_a_thorough_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amounts, "THOROUGH", True)
    assert waiting(1, monkeypatch) == set()
