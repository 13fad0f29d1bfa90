"""Check that sound programs have no diagnosis: all stored programs, examples and lessons, except those listed with a
reason.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.explain.diagnosis.diagnose import diagnoses
from dispatchviz.running.recording import EngineName
from tests.amounts import some
from tests.explain.diagnosis.cases import traced
from truth.programs import PROGRAMS

ROOT = Path(__file__).parents[3]

ROUNDS = "it takes the gradient of an operator whose derivative is zero, to compare that"
OVERFLOWS = "it takes exp of large numbers, to compare gradients of second order: the infinity is real"
NO_NUMBER = "its data have nan or infinity, to compare what gradients become then"

EXCEPTIONS = {
    "anomaly_without_nan_check": ("not finite in the forward pass", "it multiplies by nan, for anomaly mode"),
    "complex_d_inf": ("not finite in the data", NO_NUMBER),
    "draw_gamma": ("not finite in a Node", "the derivative of a draw at 0 is infinite, as PyTorch's is"),
    "gradients_of_exponentials_and_logarithms": ("derivative that is zero everywhere", ROUNDS),
    "grid_sample_outside_of_what_is_no_number": ("not finite in the data", NO_NUMBER),
    "kl_div_plain": ("not finite in a Node", "kl_div of a target below 0 is nan, and so is its gradient"),
    "optimizers_that_are_differentiated": ("derivative that is zero everywhere", "Rprop takes the sign of a gradient"),
    "orthogonal_weights": ("parameter without a gradient", "it asks for the gradient of the weight, not of the layer"),
    "random_bernoulli_gradient": ("derivative that is zero everywhere", ROUNDS),
    "saved_and_written_past_the_version": ("write through .data to a saved tensor", "it does just that, on purpose"),
    "second_cumprod_twice": ("not finite in the forward pass", OVERFLOWS),
    "second_max_pool_twice": ("not finite in the forward pass", OVERFLOWS),
    "second_mse_twice": ("not finite in the forward pass", OVERFLOWS),
    "two_layer_network": ("gradient of zeros after a gate", "its ReLU is closed: the gradient is zero, as told"),
}
"""The programs with a correct alarm: its kind, and why the program is written that way."""

NAMES = [name for name in PROGRAMS if name not in EXCEPTIONS]
MISTAKE = "examples/misconceptions/data_write.py"
"""The example that writes through ``.data`` on purpose."""
FILES = sorted({str(path.relative_to(ROOT)) for path in (ROOT / "examples").rglob("*.py")} - {MISTAKE})
OF_TORCH = sorted(path for path in FILES if path.startswith(("examples/training/", "examples/lessons/")))


def alarms(source: str, engine: EngineName = "model") -> list[tuple[str, str]]:
    """Return the diagnoses of a program, without those of its own error and of PyTorch's own warnings."""
    found = diagnoses(traced(source, engine, most=0))
    return [(each.kind, each.why) for each in found if each.rank not in ("error", "warning")]


@pytest.mark.parametrize("name", some(NAMES, 40))
def test_stored_program_has_no_diagnosis(name: str) -> None:
    assert alarms(f"import torch\n{PROGRAMS[name]}") == []


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_listed_exception_has_its_diagnosis(name: str) -> None:
    kind, reason = EXCEPTIONS[name]
    assert [each for each, _ in alarms(f"import torch\n{PROGRAMS[name]}")] == [kind], reason


@pytest.mark.parametrize("file", some(FILES, 6))
def test_example_has_no_diagnosis(file: str) -> None:
    assert alarms((ROOT / file).read_text("utf-8")) == []


def test_example_with_a_silent_mistake_has_its_diagnosis() -> None:
    [(kind, _)] = alarms((ROOT / MISTAKE).read_text("utf-8"))
    assert kind == "write through .data to a saved tensor"


@pytest.mark.torch
@pytest.mark.parametrize("file", some(OF_TORCH, 10))
def test_example_has_no_diagnosis_on_an_installed_pytorch(file: str) -> None:
    assert alarms((ROOT / file).read_text("utf-8"), "torch") == []
