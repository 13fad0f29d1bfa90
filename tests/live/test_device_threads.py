"""The engine evaluates Nodes of a device on a thread of its own: what happens there is within the backward that was
called."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.trace import Trace

pytestmark = pytest.mark.torch

PROGRAM = Path(__file__).parent / "programs" / "device_threads.py"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Recorded in a process of its own: a device is registered once for all."""
    file = tmp_path_factory.mktemp("device") / "program.dvtrace"
    words = [sys.executable, "-m", "dispatchviz", "run", "--engine", "torch", "--save", str(file), str(PROGRAM)]
    subprocess.run(words, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return Trace.load(file)


def around(trace: Trace, step: int) -> Iterator[ev.Event]:
    """What a step is within, innermost first."""
    parent = trace[step].parent
    while parent is not None:
        yield trace[parent]
        parent = trace[parent].parent


Kind = TypeVar("Kind", bound=ev.Event)


def of(trace: Trace, kind: type[Kind]) -> dict[int, Kind]:
    """Steps of a kind, with their events."""
    return {step: event for step in range(len(trace)) if isinstance(event := trace[step], kind)}


def test_nodes_run_on_the_thread_of_their_device_within_a_backward(trace: Trace) -> None:
    runs = of(trace, ev.NodeStarted)
    assert {(run.device, run.thread) for run in runs.values()} == {("npy:0", "pt_autograd_0")}
    for step in runs:
        assert isinstance(next(around(trace, step)), ev.BackwardStarted)


def test_every_backward_that_ends_ran_all_its_nodes(trace: Trace) -> None:
    """Each has at least one Node within; one is within a Node of another."""
    backwards = of(trace, ev.BackwardStarted)
    assert set(backwards) == {run.parent for run in of(trace, ev.NodeStarted).values()}
    nested = [
        each.depth
        for step, each in backwards.items()
        if any(isinstance(one, ev.NodeStarted) for one in around(trace, step))
    ]
    assert nested == [1]


def test_gradients_are_accumulated_within_the_node_that_does(trace: Trace) -> None:
    written = of(trace, ev.GradientAccumulated)
    assert len(written) == 9
    for step in written:
        node = next(one for one in around(trace, step) if isinstance(one, ev.NodeStarted))
        assert node.name == "torch::autograd::AccumulateGrad"


def test_kernels_that_a_node_calls_are_within_it(trace: Trace) -> None:
    """Those that are no lines of a hook or Function: the formulas of MulBackward0."""
    calls = [step for step, call in of(trace, ev.Dispatched).items() if call.operator == "aten::mul.Tensor"]
    assert any(isinstance(next(around(trace, step)), ev.NodeStarted) for step in calls)
