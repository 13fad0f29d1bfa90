"""Modes and tensor subclasses: ``__torch_dispatch__`` intercepts the same calls as in PyTorch."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from typing import Any

import pytest

from dispatchviz.running.import_hook import torch_is_the_model
from dispatchviz.running.process_state import clean_process_state
from truth import records
from truth.questions.python_keys import printed, programs, seen, seen_by_wrappers, seen_programs

pytestmark = pytest.mark.record("python_keys")

ANSWERS: dict[str, Any] = records.read("python_keys")["printed"]


SEEN_BY_A_MODE: dict[str, list[str]] = records.read("python_keys_seen")["seen"]
SEEN_BY_WRAPPERS: dict[str, list[str]] = records.read("python_keys_seen")["seen_by_wrappers"]
OTHERWISE = {
    "zero_tensor_products": "PyTorch finds the shapes of zero tensors with operators in Python, which the mode sees",
    "zero_tensor_sums": "the same",
    "zero_tensor_gradient": "the same",
    "zero_tensor_as_grad": "the same",
}
"""Programs of which a mode sees something else here, and why."""


OTHERWISE_WRAPPED = {
    "zero_tensor_products": OTHERWISE["zero_tensor_products"],
    "zero_tensor_sums": "the same",
    "zero_tensor_gradient": "the same",
    "conj_out_resized": "PyTorch resizes the result of an out= operator through resize_",
}
"""The same for wrappers."""


def model_prints(source: str) -> list[str]:
    with torch_is_the_model(), clean_process_state(), warnings.catch_warnings():
        return printed(source)


def test_every_program_has_an_answer() -> None:
    assert list(ANSWERS) == list(programs())


@pytest.mark.parametrize("name", ANSWERS)
def test_programs_print_what_they_print_under_pytorch(name: str) -> None:
    assert model_prints(programs()[name]) == ANSWERS[name]


@pytest.mark.parametrize("name", [name for name in SEEN_BY_A_MODE if name not in OTHERWISE])
def test_a_mode_intercepts_the_same_calls_as_in_pytorch(name: str) -> None:
    with torch_is_the_model(), clean_process_state():
        assert seen(seen_programs()[name]) == SEEN_BY_A_MODE[name]


@pytest.mark.parametrize("name", [name for name in SEEN_BY_WRAPPERS if name not in OTHERWISE_WRAPPED])
def test_wrappers_intercept_the_same_calls_as_in_pytorch(name: str) -> None:
    with torch_is_the_model(), clean_process_state():
        assert seen_by_wrappers(seen_programs()[name]) == SEEN_BY_WRAPPERS[name]


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_is_listed_as_different_is(name: str) -> None:
    with torch_is_the_model(), clean_process_state():
        assert seen(seen_programs()[name]) != SEEN_BY_A_MODE[name]


@pytest.mark.parametrize("name", OTHERWISE_WRAPPED)
def test_what_is_listed_as_different_for_wrappers_is(name: str) -> None:
    with torch_is_the_model(), clean_process_state():
        assert seen_by_wrappers(seen_programs()[name]) != SEEN_BY_WRAPPERS[name]


@pytest.mark.torch
@pytest.mark.pinned
def test_answers_are_those_of_pytorch() -> None:
    """In a process of its own: what a program leaves in the interpreter must not matter."""
    pytest.importorskip("torch")
    program = "import json; from truth.questions.python_keys import *; import torch; torch.set_num_threads(1)"
    loop = "print(json.dumps({name: printed(source) for name, source in programs().items()}))"
    done = subprocess.run([sys.executable, "-c", f"{program}\n{loop}"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ANSWERS
