"""Modes and tensor subclasses: what ``__torch_dispatch__`` sees is what it sees in PyTorch."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from typing import Any

import pytest

from dispatchviz.face import torch_is_the_model
from dispatchviz.fresh import machine_as_new
from scripts.record_python_keys import STORED, printed, programs

ANSWERS: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))["printed"]


def model_prints(source: str) -> list[str]:
    with torch_is_the_model(), machine_as_new(), warnings.catch_warnings():
        return printed(source)


def test_every_program_has_an_answer() -> None:
    assert list(ANSWERS) == list(programs())


@pytest.mark.parametrize("name", ANSWERS)
def test_programs_print_what_they_print_under_pytorch(name: str) -> None:
    assert model_prints(programs()[name]) == ANSWERS[name]


@pytest.mark.torch
def test_answers_are_those_of_pytorch() -> None:
    """In a process of its own: what a program leaves in the interpreter must not matter."""
    pytest.importorskip("torch")
    asked = "import json; from scripts.record_python_keys import *; import torch; torch.set_num_threads(1)"
    loop = "print(json.dumps({name: printed(source) for name, source in programs().items()}))"
    done = subprocess.run([sys.executable, "-c", f"{asked}\n{loop}"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ANSWERS
