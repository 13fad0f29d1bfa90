"""The steps of ``torch.compile`` in a recording, compared with what PyTorch itself says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import dispatchviz
from dispatchviz import Trace
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.graph_line import GraphLine
from dispatchviz.explain.graph.compiled.graphs import calls_of, graph_of
from dispatchviz.live.compiled_regions import compiler_is_watched
from dispatchviz.live.installed_torch import installed_torch
from tests.live.compiled_program import RECORDING, recorded
from tests.waiting import HANGS

torch: Any = installed_torch() if find_spec("torch") else None

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(
        torch is None or not compiler_is_watched(torch), reason="this release's compiler is not watched"
    ),
]


def f(x: Any, w: Any) -> Any:
    h = torch.nn.functional.linear(x, w)
    h = h.sigmoid() * 2
    return (h - h.mean()).relu().sum()


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory, kept: Kept) -> Trace:
    """Return a recording of the stored program. Operators that the compiler defines vanish at the end of the program
    that loads it, so ``kept`` loads it.
    """
    return recorded(tmp_path_factory.mktemp("compiled"))


class Kept(NamedTuple):
    """A compiled call of ``f`` and its backward."""

    trace: Trace
    graphs: list[list[tuple[str, str]]]
    """The name and the target of each call in the graphs that the backend got."""
    w: Any


@pytest.fixture(scope="module")
def kept() -> Kept:
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    def keep(graph: Any, inputs: Any) -> Any:
        graphs.append([(node.name, str(node.target)) for node in graph.graph.nodes if node.op == "call_function"])
        return make_boxed_func(graph.forward)

    graphs: list[list[tuple[str, str]]] = []
    w = torch.ones(4, 3, requires_grad=True)
    with dispatchviz.record("test.py", engine="torch") as trace:
        torch.compile(f, backend=aot_autograd(fw_compiler=keep, bw_compiler=keep))(torch.ones(2, 3), w).backward()
    return Kept(trace, graphs, w)


def graph(trace: Trace, stage: ev.GraphStage) -> ev.GraphCaptured:
    found = graph_of(trace, len(trace) - 1, 0, stage)
    assert found is not None
    return found


def lines(trace: Trace) -> Iterator[GraphLine]:
    return (line for event in trace if isinstance(event, ev.GraphCaptured) for line in event.lines)


def test_stored_recording_is_fresh(trace: Trace) -> None:
    """If it fails, run ``python -m tests.live.compiled_program`` with PyTorch 2.13."""
    stored = dispatchviz.load(RECORDING)
    if trace.header.pytorch == stored.header.pytorch:
        assert [type(event) for event in trace] == [type(event) for event in stored]


def test_graphs_are_those_that_the_backend_gets(kept: Kept) -> None:
    trace = kept.trace
    for stage, expected in zip(("forward", "backward"), kept.graphs, strict=True):
        assert [line.name for line in calls_of(graph(trace, stage))] == [name for name, _ in expected]
        assert [line.code.partition("(")[0] for line in calls_of(graph(trace, stage))] == [each for _, each in expected]


def test_nodes_are_those_of_an_eager_forward(kept: Kept) -> None:
    trace = kept.trace
    waiting, found = [f(torch.ones(2, 3), kept.w).grad_fn], set()
    while waiting:
        node = waiting.pop()
        found.add(node.name())
        waiting += [to for to, _ in node.next_functions if to is not None]
    joint = calls_of(graph(trace, "joint"))
    assert {line.node for line in joint if line.part == "backward"} == found - {"torch::autograd::AccumulateGrad"}
    for name in {line.node for line in joint if line.part == "backward"}:
        assert [line for line in joint if line.part == "forward" and line.node == name]


def test_saved_values_are_those_of_the_node(kept: Kept) -> None:
    trace = kept.trace
    node = torch.compile(f, backend="aot_eager")(torch.ones(2, 3), kept.w).grad_fn
    assert len(graph(trace, "forward").saved) == len(node.saved_tensors)


def test_picked_kernels_are_those_of_pytorchs_rule(trace: Trace) -> None:
    resolve, checked = torch._ops.resolve_key, set()
    for line in lines(trace):
        namespace, _, rest = line.operator.partition("::")
        name, _, overload = rest.partition(".")
        for key, picked in line.keys:
            operator = getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")
            final = resolve(operator, torch._C.DispatchKey.__members__[key])
            function = operator.py_kernels.get(final)
            expected = final.name if function is None else f"{function.__module__}.{function.__qualname__}"
            assert picked == expected, (line.operator, key)
            checked.add((line.operator, key))
    assert ("aten::linear", "AutogradCPU") in checked
    assert ("aten::mm", "Meta") in checked


def test_reasons_are_those_of_pytorch(trace: Trace) -> None:
    reasons = {event.reason for event in trace if isinstance(event, ev.GraphBroken)}
    known = [str(one) for one in torch._dynamo.utils.counters["graph_break"]]
    assert reasons
    assert all(any(reason.partition("\n")[0] in one for one in known) for reason in reasons)


def test_hidden_warnings_are_not_recorded(trace: Trace) -> None:
    assert not [event for event in trace if isinstance(event, ev.Warned)]


def test_nothing_of_ours_is_left(kept: Kept) -> None:
    assert kept.graphs
    regions = [value for name, value in globals().items() if name.startswith("__compiled_fn")]
    assert regions
    assert not [one for one in regions if getattr(one, "__module__", "").startswith("dispatchviz")]
    output = torch._dynamo.output_graph.OutputGraph
    for name in ("compile_subgraph", "call_user_compiler", "install_global_unsafe"):
        assert getattr(output, name).__code__.co_filename.endswith("output_graph.py")


INDUCTOR = """\
import torch
def f(x, w):
    return x @ w
w = torch.ones(3, 4, requires_grad=True)
for _ in range(2):
    torch.compile(f)(torch.ones(2, 3), w).sum().backward()
    torch._dynamo.reset()
"""
"""A program for which inductor generates no C++, because a matrix product is a call of PyTorch's kernel."""


@pytest.mark.long
def test_inductors_graphs_come_from_the_trace_and_then_from_the_cache(tmp_path: Path) -> None:
    program, saved = tmp_path / "inductor.py", tmp_path / "inductor.dvtrace"
    program.write_text(INDUCTOR)
    command = [sys.executable, "-m", "dispatchviz", "run", "--engine", "torch", "--save", str(saved), str(program)]
    own = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    done = subprocess.run(command, env=os.environ | own, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 0, done.stderr
    graphs = [event for event in dispatchviz.load(saved) if isinstance(event, ev.GraphCaptured)]
    stages = ("Dynamo", "joint", "forward", "backward")
    assert [(each.stage, each.region) for each in graphs] == [(stage, region) for region in (0, 1) for stage in stages]
    assert [each.cached for each in graphs] == [False] * 5 + [True] * 3
    for first, again in zip(graphs[1:4], graphs[5:], strict=True):
        shown = [(line.name, line.operator, line.value) for line in calls_of(first)]
        assert [(line.name, line.operator, line.value) for line in calls_of(again)] == shown
        both = zip(calls_of(again), calls_of(first), strict=True)
        places = [((line.file, line.line), (other.file, other.line)) for line, other in both]
        without = [("", 0)] * (again.stage == "backward")  # PyTorch 2.14 keeps no lines of that graph in the cache
        assert all(place in (other, *without) for place, other in places)
        assert first.saved == again.saved
