"""Training loops print and dispatch the same as on PyTorch; a use case of sequence numbers."""

from __future__ import annotations

import functools
import io
import re
from pathlib import Path

import pytest

from dispatchviz import torch as model
from dispatchviz.core.record import events as ev
from dispatchviz.explain.graph.queued_nodes import queue_at
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.running.program import run
from dispatchviz.trace import Trace
from tests.model_runs import model_log
from truth import records
from truth.compare import difference
from truth.observers.runs import Run, in_new_thread
from truth.programs import TRAINING
from truth.readable import log_texts

NUMBER = re.compile(r"(-?\d+\.\d*(?:e[+-]\d+)?)")
RECORDED = [pytest.param(name, marks=pytest.mark.record(f"training/{name}")) for name in records.training_loops()]


def alike(ours: str, theirs: str) -> bool:
    """Return whether texts are the same except for the last digits of numbers with a decimal point."""
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


@pytest.mark.long
@pytest.mark.parametrize("name", RECORDED)
def test_a_training_loop_prints_what_it_printed_on_pytorch(name: str) -> None:
    output, expected = ran(name)[0].output, records.training_loop(name)["output"]
    assert alike(output, expected), f"PyTorch:\n{expected}\ndispatchviz:\n{output}"


@pytest.mark.long
@pytest.mark.parametrize("name", RECORDED)
def test_a_training_loop_takes_pytorchs_steps(name: str) -> None:
    assert not (unlike := difference(name, log_texts(records.training_loop(name)["log"]), ran(name)[1])), unlike


@pytest.mark.long
def test_every_training_loop_was_recorded() -> None:
    assert records.training_loops() == sorted(path.stem for path in TRAINING.glob("*.py"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [("loss 0.50001", "loss 0.5", True), ("loss 0.51", "loss 0.5", False), ("3 of 4", "2 of 4", False)],
)
def test_alike_compares_two_outputs(ours: str, theirs: str, same: bool) -> None:
    assert alike(ours, theirs) is same


EXAMPLES = Path(__file__).parents[1] / "examples"
PRINTED = """\
as recorded: dense dense dense collective collective
renumbered:  collective collective dense dense dense
"""


@pytest.fixture
def trace(monkeypatch: pytest.MonkeyPatch) -> Trace:
    monkeypatch.chdir(EXAMPLES.parent)
    output = io.StringIO()
    outcome = run("examples/collective_overlap.py", (), output)
    assert (outcome.status, output.getvalue()) == (0, PRINTED)
    return outcome.trace


def contested(trace: Trace) -> list[tuple[str, str]]:
    """Return the Nodes that ran first where two branches were ready at once, each with the Node that had to wait."""
    names = {event.node: event.name for event in trace if isinstance(event, ev.NodeCreated)}
    started = [event for event in trace if isinstance(event, ev.NodeStarted)]
    waiting = [(event.name, next(iter(queue_at(trace, event)), None)) for event in started]
    return [(name, names[first.node]) for name, first in waiting if first and not name.endswith("AccumulateGrad")]


def test_queue_shows_the_waiting_nodes(trace: Trace) -> None:
    dense = [("ExpBackward0", "NegBackward0"), ("SqrtBackward0", "NegBackward0"), ("ExpBackward0", "NegBackward0")]
    collective = [("NegBackward0", "ExpBackward0"), ("CloneBackward0", "ExpBackward0")]
    assert contested(trace) == dense + collective


def test_the_step_has_the_sentence_that_the_number_decides(trace: Trace) -> None:
    first = [event for event in trace if isinstance(event, ev.NodeStarted) and event.name == "NegBackward0"][-1]
    (other,) = [each.sequence_nr for each in queue_at(trace, first)]
    assert first.sequence_nr > other
    assert f"it has the largest sequence number of the ready Nodes, {first.sequence_nr} (ExpBackward0" in (
        why_here(trace, first.seq)
    )
    assert f", seq {other}, waits)" in why_here(trace, first.seq)
