"""The stored call chains and worked examples are still what PyTorch does."""

from __future__ import annotations

import warnings

import pytest

from tests.amounts import in_turn
from tests.chains import PROGRAMS
from tests.chains import measured as chains
from tests.core.test_worked_examples import measured as examples
from truth.questions.worked_examples import CALLS, STATES, TENSORS

torch = pytest.importorskip("torch")


@pytest.mark.record("call_chains")
@pytest.mark.parametrize("name", in_turn(sorted(chains()), 3))
def test_chain(name: str) -> None:
    from truth.recorders.call_chains import recorded

    found = recorded((PROGRAMS / f"{name}.py").read_text(encoding="utf-8"))
    assert found == chains()[name]


@pytest.mark.record("worked_examples")
def test_worked_examples() -> None:
    from truth.recorders import worked_examples as record

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: record.measured(call) for name, call in CALLS.items()}
    assert found == examples()["calls"]


@pytest.mark.record("worked_examples")
def test_tensors_and_thread_states() -> None:
    from truth.recorders import worked_examples as record

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensors = {name: record.key_set(record.given(), source) for name, source in TENSORS.items()}
        states = {name: record.noted(source) for name, source in STATES.items()}
    assert tensors == examples()["tensors"]
    assert states == examples()["states"]
