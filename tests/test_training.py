"""Training loops, as a learner would paste them: what they print and dispatch is what they did on PyTorch.

Numbers agree to a few digits: PyTorch's matrix products and vectorised functions round differently from machine to
machine, and training carries that on.
"""

from __future__ import annotations

import functools
import re

import pytest

from dispatchviz import torch as model
from tests.model_runs import model_log
from truth import records
from truth.compare import difference
from truth.observers.runs import Run, in_new_thread
from truth.programs import TRAINING
from truth.readable import log_texts

pytestmark = pytest.mark.long

NUMBER = re.compile(r"(-?\d+\.\d*(?:e[+-]\d+)?)")
RECORDED = [pytest.param(name, marks=pytest.mark.record(f"training/{name}")) for name in records.training_loops()]


def alike(ours: str, theirs: str) -> bool:
    """The same text but for the last digits of numbers with a point."""
    one, other = NUMBER.split(ours), NUMBER.split(theirs)
    same_text = [re.sub(r" +", " ", part) for part in one[::2]] == [re.sub(r" +", " ", part) for part in other[::2]]
    return same_text and all(
        float(a) == pytest.approx(float(b), rel=1e-3, abs=2e-4) for a, b in zip(one[1::2], other[1::2], strict=True)
    )


@functools.cache
def ran(name: str) -> tuple[Run, list[str]]:
    run = Run(model, (TRAINING / f"{name}.py").read_text(encoding="utf-8"))
    log = in_new_thread(lambda: model_log(run))
    assert run.error is None, run.error
    return run, log_texts(log)


@pytest.mark.parametrize("name", RECORDED)
def test_a_training_loop_prints_what_it_printed_on_pytorch(name: str) -> None:
    output, expected = ran(name)[0].output, records.training_loop(name)["output"]
    assert alike(output, expected), f"PyTorch:\n{expected}\ndispatchviz:\n{output}"


@pytest.mark.parametrize("name", RECORDED)
def test_a_training_loop_takes_pytorchs_steps(name: str) -> None:
    assert not (unlike := difference(name, log_texts(records.training_loop(name)["log"]), ran(name)[1])), unlike


def test_every_training_loop_was_recorded() -> None:
    assert records.training_loops() == sorted(path.stem for path in TRAINING.glob("*.py"))


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [("loss 0.50001", "loss 0.5", True), ("loss 0.51", "loss 0.5", False), ("3 of 4", "2 of 4", False)],
)
def test_what_is_alike(ours: str, theirs: str, same: bool) -> None:
    assert alike(ours, theirs) is same
