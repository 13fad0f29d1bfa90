"""Recordings of an installed PyTorch: nested recordings, lines that begin calls, threads of devices."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from typing import Any, TypeVar

import pytest

import dispatchviz
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events import Dispatched
from dispatchviz.explain.graph.backward_graph import backward_graph
from dispatchviz.explain.graph.node_groups import groups
from dispatchviz.running import program
from dispatchviz.running.engines import engine_named
from dispatchviz.running.recording import EngineName
from dispatchviz.trace import Trace
from tests.module_blocks import BLOCKS, ON_ONE_LINE
from tests.running.test_calls_begin import PROGRAMS, called, lines, source_of

pytestmark = pytest.mark.torch


def _changed(torch: Any) -> list[object]:
    """Return the objects that a recording of an installed PyTorch replaces."""
    tensor, functions = torch.Tensor, torch.autograd
    return [functions._engine_run_backward, tensor.retain_grad, tensor.__new__, torch.library.Library.impl]


def _nested(engine: EngineName) -> str:
    with pytest.raises(RuntimeError) as refused, dispatchviz.record(engine=engine):
        pass
    return str(refused.value)


@pytest.mark.parametrize("inner", ["model", "torch"])
@pytest.mark.parametrize("outer", ["model", "torch"])
def test_a_nested_recording_changes_nothing(outer: EngineName, inner: EngineName) -> None:
    import torch

    before = _changed(torch)
    with dispatchviz.record(engine=outer) as trace:
        within = _changed(torch)
        with ThreadPoolExecutor(1) as pool:
            said = {_nested(inner), pool.submit(_nested, inner).result()}
        assert _changed(torch) == within
        if outer == "torch":
            (torch.ones(2, requires_grad=True) * 2).sum().backward()
    assert said == {"a recording is already running: stop it first (recordings do not nest)"}
    assert _changed(torch) == before
    assert trace.notice == ""
    called = {event.operator for event in trace if isinstance(event, Dispatched)}
    assert ("aten::mul.Tensor" in called) == (outer == "torch")


def test_the_model_is_used_within_a_recording_of_an_installed_pytorch() -> None:
    import torch

    with dispatchviz.record(engine="torch") as trace:
        x = torch.ones(2, requires_grad=True)
        import dispatchviz.torch as model
        from dispatchviz import testing

        ours = model.ones(3, requires_grad=True)
        (ours.exp() * 2).sum().backward()
        (x * 2).sum().backward()
        text = repr(ours.grad)
    assert testing is not None
    assert text.startswith("tensor(")
    assert trace.notice == ""
    called = {event.operator for event in trace if isinstance(event, Dispatched)}
    assert "aten::mul.Tensor" in called
    assert "aten::exp" not in called


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_line_says_that_a_call_begins_as_often_as_python_calls(name: str, tmp_path: Path) -> None:
    file = tmp_path / "p.py"
    file.write_text(source_of(name))
    trace = program.run(str(file), output=StringIO(), engine=engine_named("torch")).trace
    assert [line.function for line in lines(trace) if line.begins] == called(source_of(name))


def test_modules_that_one_line_calls_are_different_groups(tmp_path: Path) -> None:
    file = tmp_path / "p.py"
    file.write_text(ON_ONE_LINE)
    graph = backward_graph(program.run(str(file), output=StringIO(), engine=engine_named("torch")).trace)
    titles = {path[0].title for path in groups(graph, "module").values() if path}
    assert titles == {f"model.{at}" for at in range(BLOCKS + 1)}


PROGRAM = Path(__file__).parent / "programs" / "device_threads.py"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Return the trace, recorded in a process of its own, because a device is registered once for all."""
    file = tmp_path_factory.mktemp("device") / "program.dvtrace"
    words = [sys.executable, "-m", "dispatchviz", "run", "--engine", "torch", "--save", str(file), str(PROGRAM)]
    subprocess.run(words, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return Trace.load(file)


def around(trace: Trace, step: int) -> Iterator[ev.Event]:
    """Yield the events around a step, innermost first."""
    parent = trace[step].parent
    while parent is not None:
        yield trace[parent]
        parent = trace[parent].parent


Kind = TypeVar("Kind", bound=ev.Event)


def of(trace: Trace, kind: type[Kind]) -> dict[int, Kind]:
    """Return the steps of a kind, with their events."""
    return {step: event for step in range(len(trace)) if isinstance(event := trace[step], kind)}


def test_nodes_run_on_the_thread_of_their_device_within_a_backward(trace: Trace) -> None:
    runs = of(trace, ev.NodeStarted)
    assert {(run.device, run.thread) for run in runs.values()} == {("npy:0", "pt_autograd_0")}
    for step in runs:
        assert isinstance(next(around(trace, step)), ev.BackwardStarted)


def test_every_backward_that_ends_ran_all_its_nodes(trace: Trace) -> None:
    """Each backward has at least one Node within it, and one backward is within a Node of another."""
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
    """Only calls by the formulas of MulBackward0 count, and not lines of a hook or Function."""
    calls = [step for step, call in of(trace, ev.Dispatched).items() if call.operator == "aten::mul.Tensor"]
    assert any(isinstance(next(around(trace, step)), ev.NodeStarted) for step in calls)
