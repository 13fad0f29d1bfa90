"""Events are made of notes when somebody looks: what they say must be what was so when it happened."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.record.event_builder import EventBuilder
from dispatchviz.core.record.events import (
    AnyEvent,
    BindingEntered,
    Dispatched,
    FallthroughSkipped,
    KernelEntered,
    KernelSelected,
    NodeCreated,
)
from dispatchviz.core.seam import recorder
from dispatchviz.trace import Trace


def of_kind(trace: Trace, kind: type[AnyEvent]) -> list[AnyEvent]:
    return [event for event in trace if isinstance(event, kind)]


# -- registrations that change -----------------------------------------------------------------------------------------


def test_a_cell_is_described_as_it_was_when_it_was_picked() -> None:
    with dispatchviz.record() as trace, torch.library._scoped_library("transcript", "DEF") as library:
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x + 1, "CPU")
        torch.ops.transcript.f(torch.ones(1))
        library.impl("f", lambda x: x + 2, "CompositeExplicitAutograd")
        torch.ops.transcript.f(torch.ones(1))
    first, second = [e for e in of_kind(trace, KernelSelected) if e.operator == "transcript::f" and e.key == "CPU"]
    assert [(c[0], c[1]) for c in first.candidates if c[2]] == [("CPU", "taken")]
    assert [(c[0], c[1]) for c in second.candidates if c[2]] == [
        ("CPU", "taken"),
        ("CompositeExplicitAutograd", "not reached"),
    ]


def test_a_fallthrough_is_recorded_while_it_was_one() -> None:
    with dispatchviz.record() as trace, torch.library._scoped_library("transcript", "DEF") as library:
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x + 1, "CPU")
        library.impl("f", torch.library.fallthrough_kernel, "AutogradCPU")
        torch.ops.transcript.f(torch.ones(1))
    skipped = [
        key[0]
        for event in of_kind(trace, FallthroughSkipped)
        for key in event.keys
        if trace[event.parent].operator == "transcript::f"
    ]
    assert skipped == ["AutogradCPU", "ADInplaceOrView", "BackendSelect"]


# -- threads -----------------------------------------------------------------------------------------------------------


def adds(barrier: threading.Barrier, count: int) -> Callable[[], None]:
    """Adds in a thread of its own, step by step with the others."""

    def work() -> None:
        x = torch.ones(2, requires_grad=True)
        for _ in range(count):
            barrier.wait()
            torch.add(x, x)

    return work


def nested_rightly(trace: Trace) -> None:
    """Every kernel is within its own call, every Node within a kernel of its operator."""
    for event in trace:
        around = None if event.parent is None else trace[event.parent]
        if isinstance(event, KernelEntered):
            assert isinstance(around, Dispatched)
            (chosen,) = [e for e in trace.children(around.seq) if isinstance(e, KernelSelected)]
            assert event.kernel == chosen.kernel
        if isinstance(event, NodeCreated) and event.name == "AddBackward0":
            assert isinstance(around, KernelEntered)
            assert around.kernel == "VariableType::add_Tensor"


def test_threads_that_begin_during_a_recording_are_distinguished() -> None:
    barrier = threading.Barrier(3)
    threads = [threading.Thread(target=adds(barrier, 20)) for _ in range(3)]
    with dispatchviz.record() as trace:
        torch.add(torch.ones(1), torch.ones(1))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        torch.add(torch.ones(1), torch.ones(1))
    nested_rightly(trace)
    nodes = [e for e in of_kind(trace, NodeCreated) if e.name == "AddBackward0"]
    by_thread = {thread: [n.sequence_nr for n in nodes if n.thread == thread] for thread in {n.thread for n in nodes}}
    assert len(by_thread) == 3
    assert all(numbers == list(range(20)) for numbers in by_thread.values()), "each thread counts for itself"
    outermost = of_kind(trace, BindingEntered)
    assert all(trace[e.parent].parent is None for e in outermost if e.parent is not None)


def test_a_thread_that_was_there_before_is_distinguished() -> None:
    go, done = threading.Event(), threading.Event()

    def work() -> None:
        torch.ones(1)
        done.set()
        go.wait()
        torch.add(torch.ones(3), torch.ones(3))

    thread = threading.Thread(target=work)
    thread.start()
    done.wait()
    with dispatchviz.record() as trace:
        go.set()
        thread.join()
    nested_rightly(trace)
    assert [e.operator for e in of_kind(trace, BindingEntered)] == ["aten::ones", "aten::ones", "aten::add.Tensor"]


# -- bindings that are over with their call ----------------------------------------------------------------------------


def test_a_binding_is_over_when_its_call_is() -> None:
    x, y = torch.ones(2), torch.ones(2)
    torch.add(x, y)  # from now on the parser is not asked
    with dispatchviz.record() as trace:
        torch.add(x, y)
        torch.mul(x, y)
    add, mul = of_kind(trace, BindingEntered)
    assert trace[mul.parent].parent is None
    assert trace.ends[add.seq] < mul.seq


def test_a_binding_that_fails_is_over() -> None:
    x, y = torch.ones(2), torch.ones(3)
    torch.add(x, x)
    with dispatchviz.record() as trace:
        with pytest.raises(RuntimeError, match="must match the size"):
            torch.add(x, y)
        torch.mul(x, x)
    add, mul = of_kind(trace, BindingEntered)
    assert trace.ends[add.seq] < mul.seq


# -- faults of ours ----------------------------------------------------------------------------------------------------


def test_a_fault_while_reading_ends_the_trace_with_a_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(self: EventBuilder, *facts: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(EventBuilder, "node_created", fault)
    with pytest.warns(RuntimeWarning, match="recording stopped"), dispatchviz.record() as trace:
        result = torch.ones(2, requires_grad=True) + 1
    assert result.tolist() == [2.0, 2.0]
    assert len(trace) > 3
    assert "by a fault of dispatchviz: ZeroDivisionError('ours')" in trace.notice
    assert recorder.active is None


def test_a_recording_may_be_looked_at_while_it_goes_on() -> None:
    x = torch.ones(2)
    with dispatchviz.record() as trace:
        torch.add(x, x)
        before = len(trace)
        torch.add(x, x)
        assert len(trace) > before
    assert [e.operator for e in of_kind(trace, BindingEntered)] == ["aten::add.Tensor"] * 2
