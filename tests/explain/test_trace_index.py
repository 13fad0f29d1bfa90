"""The answers from the columns of a trace about tensors, Nodes and names equal those from reading all its events."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.stored_events import StoredEvents
from dispatchviz.explain.kinds.all_kinds import label, why_here
from dispatchviz.explain.trace_index import display_names
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.trace_index import NAMING, index, latest
from dispatchviz.running.program import run
from tests.core.record.packs import packs

E = TypeVar("E", bound=ev.Event)

LOOP = """
import torch

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

w = torch.ones(2, requires_grad=True)
x = torch.ones(2)
for _ in range(6):
    y = Double.apply(w * x)
    loss = y.view(1, 2).sum()
    loss.backward()
    kept = loss
    loss.detach_()
    w.requires_grad_(False)
    with torch.inference_mode():
        w.add(1)
    w.requires_grad_()
    w.grad = None
x.resize_(3)
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loop")
    (folder / "loop.py").write_text(LOOP, encoding="utf-8")
    run(str(folder / "loop.py")).trace.save(folder / "loop.dvtrace")
    return folder / "loop.dvtrace"


class Read:
    """The facts from all events up to a step, in order."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.shapes: dict[int, tuple[int, ...]] = {}
        self.requires_grad: dict[int, bool] = {}
        self.histories: dict[int, int | None] = {}
        self.gradients: dict[int, int | None] = {}

    def read(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.NameBound():
                self.names.pop(event.name, None)  # the one that was bound last comes last
                self.names[event.name] = event.tensor
            case ev.NameUnbound() if self.names.get(event.name) == event.tensor:
                del self.names[event.name]
            case ev.TensorCreated():
                self.shapes[event.tensor], self.requires_grad[event.tensor] = event.shape, event.requires_grad
            case ev.GeometryChanged():
                self.shapes[event.tensor] = event.shape
            case ev.RequiresGradSet():
                self.requires_grad[event.tensor] = event.requires_grad
                if event.detached:
                    self.histories[event.tensor] = None
            case ev.HistorySet() | ev.HistoryRebased():
                self.requires_grad[event.tensor], self.histories[event.tensor] = True, event.node
            case ev.GradientAccumulated() | ev.GradSet():
                self.gradients[event.tensor] = event.result

    def name(self, tensor: int) -> str:
        return next((name for name in reversed(self.names) if self.names[name] == tensor), "")


@pytest.mark.parametrize("in_memory", [True, False])
def test_index_matches_a_plain_read_at_every_step(stored: Path, in_memory: bool) -> None:
    trace, read = Trace.load(stored), Read()
    if in_memory:
        trace = Trace(trace.header, trace)
    known = index(trace)
    for event in trace:
        read.read(event)
        for tensor in read.shapes:
            view = known.views.get(tensor)
            of_base = view is not None and view.seq <= event.seq and read.requires_grad.get(view.base, False)
            assert known.name(tensor, event.seq) == read.name(tensor)
            assert known.shape(tensor, event.seq) == read.shapes[tensor]
            assert known.history(tensor, event.seq) == read.histories.get(tensor)
            assert known.grad_needed(tensor, event.seq) == (read.requires_grad[tensor] or of_base)
        for leaf, gradient in read.gradients.items():
            assert latest(known.gradients[leaf], event.seq) == gradient
            assert gradient is None or known.leaves[gradient] == leaf
    assert read.gradients
    assert None in read.histories.values()


def of(trace: Trace, kind: type[E]) -> list[E]:
    return [event for event in trace if isinstance(event, kind)]


def test_index_returns_the_only_event_of_a_thing(stored: Path) -> None:
    trace = Trace.load(stored)
    known = index(trace)
    assert {each.tensor: each for each in of(trace, ev.TensorCreated)} == dict(known.tensors)
    assert {each.tensor: each for each in of(trace, ev.ViewMade)} == dict(known.views)
    assert {each.node: each for each in of(trace, ev.NodeCreated)} == dict(known.nodes)
    assert {each.node: each for each in of(trace, ev.EdgesCollected)} == dict(known.edges)
    assert {each.node: each for each in of(trace, ev.AccumulatorMade)} == dict(known.accumulators)
    assert {each.node for each in of(trace, ev.FunctionEntered)} == set(known.functions) != set()
    assert {each.result: each.seq for each in of(trace, ev.FunctionOutput)} == dict(known.function_outputs) != {}
    assert len(of(trace, ev.NodeCreated)) == sum(known.node_names.values())


def test_an_answer_decodes_no_more_than_the_blocks_that_it_is_in(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace, decoded, decode = Trace.load(stored), list[int](), StoredEvents._decode

    def noted(events: StoredEvents, block: int) -> list[ev.AnyEvent]:
        decoded.append(block)
        return decode(events, block)

    monkeypatch.setattr(StoredEvents, "_decode", noted)
    known, last = index(trace), len(trace) - 1
    parameter = known.holder("w", last)
    assert parameter is not None
    assert known.name(parameter, last) == "w"
    assert decoded == []
    assert known.grad_needed(parameter, last)
    assert known.shape(parameter, last) == (2,)
    assert len(decoded) <= 2


def test_names_are_found_once_between_two_bindings(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace, found, find = Trace.load(stored), list[tuple[int, int]](), display_names._found_name

    def noted(trace: Trace, tensor: int, at: int) -> str:
        found.append((tensor, at))
        return find(trace, tensor, at)

    monkeypatch.setattr(display_names, "_found_name", noted)
    tensors = sorted(index(trace).tensors)[:5]
    whole = {(tensor, at): find(trace, tensor, at) for tensor in tensors for at in range(len(trace))}
    for at in (*range(len(trace)), *range(0, len(trace), 7)[::-1]):
        assert all(tensor_name(trace, tensor, at) == whole[tensor, at] for tensor in tensors)
    forward = found[: next(place for place in range(1, len(found)) if found[place][1] < found[place - 1][1])]
    changes = len(trace.steps_of(*NAMING))
    assert len(forward) <= (changes + 1) * len(tensors) < len(trace) * len(tensors) / 4


def test_a_damaged_block_takes_only_its_own_answers(stored: Path, tmp_path: Path) -> None:
    raw, damaged = bytearray(stored.read_bytes()), tmp_path / "damaged.dvtrace"
    for begins in packs(bytes(raw))[1::2]:
        raw[begins + 20] ^= 0xFF
    damaged.write_bytes(raw)
    trace = Trace.load(damaged)
    assert any(isinstance(event, ev.Unknown) for event in trace)
    known, last = index(trace), len(trace) - 1
    assert all(known.holder(name, last) == index(Trace.load(stored)).holder(name, last) for name in ("w", "x", "loss"))
    for at in range(len(trace)):
        assert label(trace, at)
        assert why_here(trace, at)
