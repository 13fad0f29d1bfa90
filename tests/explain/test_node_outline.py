"""The facts about a Node that folding reads: they equal those of the whole Node at any step, in the order of the
file.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.stored_events import StoredEvents
from dispatchviz.explain.graph.backward_graph import EVERYTHING, backward_graph
from dispatchviz.explain.graph.graph_node import State
from dispatchviz.explain.graph.node_outline import NodeOutline
from tests.explain.programs import traced
from tests.graphs import GraphTape, chain

BEGIN = """
import torch
a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
y = (a * b).exp().sin()
"""

PROGRAMS = {
    "freed": "y.sum().backward()\n",
    "twice": "y.sum().backward(retain_graph=True)\ny.sum().backward()\n",
    "some gradients": "y.sum().backward(inputs=[b])\n",
    "taken on the way": "y.sum().backward(inputs=[y], retain_graph=True)\ny.sum().backward()\n",
    "grad of a": "torch.autograd.grad(y.sum(), a)\n",
    "grad of grad": "(g,) = torch.autograd.grad(y.sum(), a, create_graph=True)\ng.sum().backward()\n",
    "a hook that raises": """
def stop(grad):
    raise ValueError("no")
y.register_hook(stop)
try:
    (y * 2).sum().backward(retain_graph=True)
except ValueError:
    pass
try:
    a.exp().sum().backward()
    y.sum().backward()
except ValueError:
    pass
""",
    "a backward in a backward": """
def within(grad):
    (b * 3).sum().backward()
    return grad
y.register_hook(within)
y.sum().backward()
""",
}


@cache
def program(name: str) -> Trace:
    return traced(BEGIN + PROGRAMS[name])


def differing(trace: Trace, at: int, of: str | None = None) -> list[NodeOutline]:
    """The outlines that are not those of the whole Nodes."""
    graph = backward_graph(trace, at, of)
    whole = replace(graph, nodes=dict(graph.nodes))
    return [outline for outline in graph.outlines() if outline != whole.outline(outline.number)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_at_each_step_of_a_program(name: str) -> None:
    trace = program(name)
    first = trace.steps_of(ev.NodeCreated)[0]
    assert [at for at in range(first, len(trace)) if differing(trace, at) or differing(trace, at, EVERYTHING)] == []


def test_the_programs_bring_every_state_about() -> None:
    found = set[State]()
    for name in PROGRAMS:
        trace = program(name)
        for at in range(trace.steps_of(ev.BackwardStarted)[0], len(trace)):
            found.update(outline.state for outline in backward_graph(trace, at, EVERYTHING).outlines())
    assert found == set(State)


def failing() -> Trace:
    """A Node raises, then another backward goes through it."""
    tape = GraphTape()
    x = tape.leaf("x")
    [y] = tape.op("SinBackward0", x, saved=[x])
    [z] = tape.op("CosBackward0", y, saved=[y])
    tape.backward(z, raising_in="SinBackward0")
    tape.backward(z)
    tape.backward(y, raising_in="SinBackward0")
    return tape.trace(program="failing.py", sources={})


def test_at_each_step_after_a_node_has_raised() -> None:
    trace = failing()
    assert [at for at in range(len(trace)) if differing(trace, at) or differing(trace, at, EVERYTHING)] == []


def unnamed(trace: Trace) -> Trace:
    """The same trace without the events that create its Nodes."""
    gone = (ev.Unknown(event.seq, event.parent, "Gone", "[]") for event in trace)
    return Trace(
        trace.header, [new if isinstance(old, ev.NodeCreated) else old for old, new in zip(trace, gone, strict=True)]
    )


def test_nodes_that_first_appear_when_they_run_have_outlines() -> None:
    trace = unnamed(chain(5))
    assert [at for at in range(len(trace)) if differing(trace, at)] == []
    assert {outline.name for outline in backward_graph(trace).outlines()} == {"AddBackward0", "AccumulateGrad"}


def test_a_file_is_read_in_its_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain(3000).save(tmp_path / "chain.dvtrace")
    trace, blocks, read = Trace.load(tmp_path / "chain.dvtrace"), list[int](), StoredEvents._read

    def noted(events: StoredEvents, block: int) -> tuple[bytes, bool]:
        blocks.append(block)
        return read(events, block)

    monkeypatch.setattr(StoredEvents, "_read", noted)
    graph = backward_graph(trace)
    assert len(list(graph.outlines())) == 3001
    of_nodes = {step // 256 for step in trace.steps_of(ev.NodeCreated, ev.EdgesCollected)}
    assert len(blocks) < len(of_nodes) + 10, "nothing of the engine is read, and each part once"
