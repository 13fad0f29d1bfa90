"""The model compared with a real PyTorch on random programs; and whether the stored records are still true of
PyTorch.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import dispatchviz
from tests.amounts import amount, in_turn, some
from tests.conformance.memory_formats import pairs
from tests.conformance.programs import autocast_programs, programs
from tests.model_runs import dispatch_steps, model_record
from truth.compare import close, difference
from truth.programs import SUBJECTS
from truth.readable import fact_texts, graph_texts, log_texts

torch = pytest.importorskip("torch")

TEXTS = {"log": log_texts, "facts": fact_texts, "graphs": graph_texts}


@pytest.fixture(scope="module")
def watched() -> Iterator[None]:
    from truth.observers.dispatcher import watched_dispatcher

    torch.set_num_threads(1)
    with watched_dispatcher():
        yield


def torch_record(source: str) -> dict[str, Any]:
    """Return the record of a program on the installed PyTorch. The dispatcher must be watched."""
    from truth.observers.dispatcher import steps_of, watched_engine
    from truth.observers.runs import Graphs, Run, autograd_facts, in_new_thread, used_sequence_numbers

    run, stepped = Run(torch, source), Run(torch, source)
    log, numbers = in_new_thread(lambda: (steps_of(run.whole), used_sequence_numbers(torch)))
    graphs = Graphs(stepped)
    with watched_engine(graphs):
        facts = in_new_thread(lambda: autograd_facts(stepped))
    found = {"log": log, "sequence_numbers": numbers, "facts": facts, "graphs": graphs.noted, **run.end}
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


@pytest.mark.long
@settings(max_examples=amount(100, 400), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(source=programs())
def test_random_programs_do_the_same(watched: None, source: str) -> None:
    """Every dispatch step, the graphs and their order, autograd states, sequence numbers, values and errors are
    compared.
    """
    assert_the_same(source, 1e-4)


@pytest.mark.long
@settings(max_examples=amount(80, 300), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(source=autocast_programs())
def test_random_programs_under_autocast_do_the_same(watched: None, source: str) -> None:
    """Under autocast, rounding to 8 bits can go either way, so numbers may differ in the last bit."""
    assert_the_same(source, 2e-2)


def assert_the_same(source: str, rounding: float) -> None:
    """Compare all parts of both records."""
    real, model = torch_record(source), model_record(source)
    for part, texts in TEXTS.items():
        unlike = difference(part, texts(real[part]), texts(model[part]))
        assert not unlike, source + unlike
    for part in ("error", "warnings", "output", "sequence_numbers"):
        assert real[part] == model[part], source
    for part in ("values", "grads"):
        assert close(real[part], model[part], rounding), f"{source}\nPyTorch {real[part]}\nmodel   {model[part]}"


@pytest.mark.long
def test_conversions_with_a_memory_format_dispatch_the_same(watched: None) -> None:
    """Every step of a sample of the conversions is compared, including those that allocate random bytes."""
    from dispatchviz import torch as model
    from truth.observers.dispatcher import steps_of

    for tensor, conversion in some([pair for pair in pairs() if "meta" not in "".join(pair)], 80):
        real = steps_of(partial(evaluated, torch, tensor, conversion))
        with dispatchviz.record() as trace:
            evaluated(model, tensor, conversion)
        ours = [*map(short, dispatch_steps(trace))]
        assert ours == [*map(short, real)], (tensor, conversion)


def evaluated(torch: ModuleType, tensor: str, conversion: str) -> None:
    """Convert a tensor and ignore the result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = eval(tensor, {"torch": torch})
        with contextlib.suppress(RuntimeError, TypeError):
            eval(conversion, {"torch": torch, "x": x})


def short(step: list[Any]) -> tuple[Any, ...]:
    """Return depth, operator, key, and call or redispatch."""
    depth, _, operator, key, *_, how, _ = step
    return depth, operator, key, how


@pytest.mark.record("programs", "expressions")
@pytest.mark.long
def test_stored_records_are_fresh() -> None:
    """``python -m truth.record`` would write the same files again. Of the programs an eighth of the subjects is
    checked.
    """
    subjects = ",".join(in_turn([*SUBJECTS], 8))
    check = [sys.executable, "-m", "truth.record", "--check", f"programs/{subjects}", "expressions"]
    found = subprocess.run(check, cwd=Path(__file__).parent.parent.parent, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
