"""The calls that reach ``__torch_dispatch__``, and the texts of printed tensors, compared with PyTorch's."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from typing import Any

import pytest

from dispatchviz import torch
from dispatchviz.running.import_hook import torch_is_the_model
from dispatchviz.running.process_state import clean_process_state
from truth import records
from truth.questions.printing import IN_TRANSFORMS, answer
from truth.questions.python_keys import printed, programs, seen, seen_by_wrappers, seen_programs

ANSWERS: dict[str, Any] = records.read("python_keys")["printed"]


SEEN_BY_A_MODE: dict[str, list[str]] = records.read("python_keys_seen")["seen"]
SEEN_BY_WRAPPERS: dict[str, list[str]] = records.read("python_keys_seen")["seen_by_wrappers"]
OTHERWISE = {
    "zero_tensor_products": "PyTorch finds the shapes of zero tensors with operators in Python, which the mode sees",
    "zero_tensor_sums": "the same",
    "zero_tensor_gradient": "the same",
    "zero_tensor_as_grad": "the same",
}
"""Programs in which a mode intercepts something else here -> the reason."""


OTHERWISE_WRAPPED = {
    "zero_tensor_products": OTHERWISE["zero_tensor_products"],
    "zero_tensor_sums": "the same",
    "zero_tensor_gradient": "the same",
    "conj_out_resized": "PyTorch resizes the result of an out= operator through resize_",
}
"""Programs in which a wrapper intercepts something else here -> the reason."""


def model_prints(source: str) -> list[str]:
    with torch_is_the_model(), clean_process_state(), warnings.catch_warnings():
        return printed(source)


@pytest.mark.record("python_keys")
def test_every_program_has_an_answer() -> None:
    assert list(ANSWERS) == list(programs())


@pytest.mark.record("python_keys")
@pytest.mark.parametrize("name", ANSWERS)
def test_programs_print_the_same_as_under_pytorch(name: str) -> None:
    assert model_prints(programs()[name]) == ANSWERS[name]


@pytest.mark.record("python_keys")
@pytest.mark.parametrize("name", [name for name in SEEN_BY_A_MODE if name not in OTHERWISE])
def test_a_mode_intercepts_the_same_calls_as_in_pytorch(name: str) -> None:
    with torch_is_the_model(), clean_process_state():
        assert seen(seen_programs()[name]) == SEEN_BY_A_MODE[name]


@pytest.mark.record("python_keys")
@pytest.mark.parametrize("name", [name for name in SEEN_BY_WRAPPERS if name not in OTHERWISE_WRAPPED])
def test_wrappers_intercept_the_same_calls_as_in_pytorch(name: str) -> None:
    with torch_is_the_model(), clean_process_state():
        assert seen_by_wrappers(seen_programs()[name]) == SEEN_BY_WRAPPERS[name]


@pytest.mark.record("python_keys")
@pytest.mark.parametrize("name", OTHERWISE)
def test_a_program_listed_as_different_differs(name: str) -> None:
    with torch_is_the_model(), clean_process_state():
        assert seen(seen_programs()[name]) != SEEN_BY_A_MODE[name]


@pytest.mark.record("python_keys")
@pytest.mark.parametrize("name", OTHERWISE_WRAPPED)
def test_a_wrapper_program_listed_as_different_differs(name: str) -> None:
    with torch_is_the_model(), clean_process_state():
        assert seen_by_wrappers(seen_programs()[name]) != SEEN_BY_WRAPPERS[name]


@pytest.mark.record("python_keys")
@pytest.mark.torch
@pytest.mark.pinned
def test_answers_are_those_of_pytorch() -> None:
    """Run in a separate process, so that earlier programs in the interpreter do not matter."""
    pytest.importorskip("torch")
    program = "import json; from truth.questions.python_keys import *; import torch; torch.set_num_threads(1)"
    loop = "print(json.dumps({name: printed(source) for name, source in programs().items()}))"
    done = subprocess.run([sys.executable, "-c", f"{program}\n{loop}"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ANSWERS


PRINTED: dict[str, str] = records.read("printed_tensors")["printed"]
PLAIN = [question for question in PRINTED if question not in IN_TRANSFORMS]


@pytest.mark.record("printed_tensors")
@pytest.mark.parametrize("start", range(0, len(PLAIN), 50))
def test_random_tensors_print_as_in_pytorch(start: int) -> None:
    for question in PLAIN[start : start + 50]:
        assert answer(torch, question) == PRINTED[question], question


@pytest.mark.record("printed_tensors")
@pytest.mark.parametrize("question", IN_TRANSFORMS)
def test_tensors_inside_transforms_print_as_in_pytorch(question: str) -> None:
    assert answer(torch, question) == PRINTED[question]


@pytest.mark.record("printed_tensors")
def test_options_hold_for_one_program() -> None:
    from dispatchviz.running.process_state import clean_process_state

    with clean_process_state():
        torch.set_printoptions(precision=1)
        assert str(torch.tensor([0.25])) == "tensor([0.2])"
    assert str(torch.tensor([0.25])) == "tensor([0.2500])"
