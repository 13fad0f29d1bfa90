"""Random programs on the model and on a real PyTorch: Functions, autograd, registrations, deterministic algorithms."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from dispatchviz import torch as model
from tests.amounts import amount, some
from tests.conformance.function_programs import function_programs
from tests.conformance.test_live import assert_the_same, watched  # noqa: F401  a fixture
from tests.model_runs import model_record, watched_engine
from truth import records
from truth.formats.dispatch_log import calls
from truth.observers.autograd import autograd_record, differing
from truth.programs import PROGRAMS
from truth.questions.autograd_programs import program
from truth.questions.registration_histories import History, histories

torch = pytest.importorskip("torch")

BLOCKS, OF = 12, amount(50, 100)
"""The number of blocks, and of seeds in each, after the stored seeds. By hand any number can be run."""
FIRST = 1000


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_programs_do_the_same(block: int) -> None:
    """Graphs and their execution order, states after each statement, sequence numbers, gradients, output and errors are
    compared.
    """
    from truth.observers.dispatcher import watched_engine as watched_torch

    torch.set_num_threads(1)
    for seed in range(FIRST + block * OF, FIRST + (block + 1) * OF):
        source = program(seed)
        real = autograd_record(torch, source, watched_torch)
        found = differing(real, autograd_record(model, source, watched_engine))
        assert not found, f"seed {seed}\n{source}\n{found}"


@pytest.mark.record("autograd_cases")
@pytest.mark.long
@pytest.mark.pinned
def test_stored_records_are_fresh() -> None:
    """``python -m truth.record autograd_cases`` would write the same file again."""
    check = [sys.executable, "-m", "truth.record", "--check", "autograd_cases"]
    found = subprocess.run(check, cwd=Path(__file__).parent.parent.parent, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.long
@settings(max_examples=amount(100, 400), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(source=function_programs())
def test_random_functions_do_the_same(watched: None, source: str) -> None:  # noqa: F811
    """Every dispatch step, graphs and their order, autograd states, sequence numbers, values and errors are
    compared.
    """
    assert_the_same(source, 1e-4)


COUNT = amount(160, 600)
"""The number of programs for each of the seeds."""


@pytest.mark.parametrize("seed", range(100, 105))
def test_random_registration_histories_give_the_states_of_pytorch(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, steps in enumerate(histories(seed, COUNT)):
            assert History(model._C, number).run(steps) == History(torch._C, number).run(steps), steps


IMPORT = "import torch\n"
REQUEST = "torch.use_deterministic_algorithms(True)\n"


@pytest.fixture(autouse=True)
def requested_no_more() -> Iterator[None]:
    yield
    torch.use_deterministic_algorithms(False)
    model.use_deterministic_algorithms(False)


def watched_of_deterministic_live(name: str) -> bool:
    """Return whether a program can be watched. Those on the meta device, and on CUDA without a GPU, cannot."""
    record = records.programs()[name]
    return record["log"] is not None and "cuda" not in record["source"]


@pytest.mark.parametrize("name", some([name for name in PROGRAMS if watched_of_deterministic_live(name)], 10))
def test_a_program_makes_the_same_calls_as_on_pytorch(name: str) -> None:
    from truth.recorders.programs import load_what_is_lazy, unwatched

    load_what_is_lazy()
    source = IMPORT + REQUEST + records.programs()[name]["source"].removeprefix(IMPORT)
    expected, found = unwatched(source), model_record(source)
    assert calls(found["log"]) == expected["called"], source
    assert [found[part] for part in ("error", "warnings")] == [expected[part] for part in ("error", "warnings")], source
