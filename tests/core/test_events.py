"""The classes of events, and the builder that turns notes into events."""

from __future__ import annotations

import ast
import threading
import typing
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.record import events as ev
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
from dispatchviz.core.record.trace_file import Header, encode
from dispatchviz.core.seam import recorder
from dispatchviz.trace import Trace
from scripts.events_page import PAGE, page, variables

MODULES = [ast.parse(file.read_text("utf-8")) for file in sorted(Path(ev.__path__[0]).glob("*.py"))]


def test_every_field_of_every_event_has_a_docstring() -> None:
    classes = [node for module in MODULES for node in module.body if isinstance(node, ast.ClassDef)]
    fields = {node.name: {each.name: each.docstring for each in variables(node.body)} for node in classes}
    assert set(fields) == {"Event", "Container", *(kind.__name__ for kind in ev.KINDS)}
    for kind in ev.KINDS:
        inherited, own = ev.Event.__struct_fields__, tuple(fields[kind.__name__])
        assert kind.__struct_fields__ == (*inherited, *own)
    assert not [f"{kind}.{name}" for kind, names in fields.items() for name, text in names.items() if not text.strip()]


def test_every_vocabulary_has_a_docstring() -> None:
    documented = {each.name: each.docstring for module in MODULES for each in variables(module.body)}
    vocabularies = [name for name, value in vars(ev).items() if typing.get_origin(value) is typing.Literal]
    assert vocabularies
    assert not [name for name in vocabularies if not documented[name].strip()]


def test_the_page_is_fresh() -> None:
    """If it fails, run ``python -m scripts.events_page``."""
    assert PAGE.read_text("utf-8") == page()


def test_all_kinds_are_frozen_and_named_by_their_class() -> None:
    assert {*ev.Event.__subclasses__(), *ev.Container.__subclasses__()} == {ev.Container, *ev.KINDS}
    for kind in ev.KINDS:
        config = kind.__struct_config__
        assert (config.frozen, config.gc, config.array_like, config.tag) == (True, False, True, kind.__name__)


# -- values that no field can have ------------------------------------------------------------------------------------

CALL = ev.Dispatched(0, None, "call", "aten::add.Tensor", 1, "CPU")
HEADER = Header(cuda="", program="p.py")


def reopened(*lines: str) -> Trace:
    raw = "\n".join([encode(HEADER).decode(), *lines, ""])
    return Trace.decoded(raw.encode(), "t.jsonl")


def line(event: object) -> str:
    return msgspec.json.encode(event).decode()


def test_value_outside_of_its_vocabulary_has_a_notice() -> None:
    wrong = line(CALL).replace('"call"', '"shout"')
    after = ev.Printed(1, 0, "hello\n")
    trace = reopened(wrong, line(after))
    assert trace.notice == "t.jsonl has a value at step 0 that this version does not know: it is shown unchanged"
    assert trace[0] == ev.Unknown(0, None, "Dispatched", '["shout","aten::add.Tensor",1,"CPU"]')
    assert trace[1] == after


def test_old_words_of_a_vocabulary_are_read_as_todays() -> None:
    pushed = ev.DynamicLayerPushed(0, None, 1, "Vmap", "is pushed again", 0)
    trace = reopened(line(pushed).replace("is pushed again", "is back"))
    assert (trace[0], trace.notice) == (pushed, "")


def test_value_of_another_type_has_a_notice() -> None:
    trace = reopened(line(CALL).replace(",1,", ',"1",'))
    assert trace.notice.startswith("t.jsonl has a value at step 0 ")


def test_a_kind_of_a_newer_version_needs_no_notice() -> None:
    trace = reopened('["Danced",0,null,3]', line(ev.Printed(1, None, "hello\n")))
    assert trace[0] == ev.Unknown(0, None, "Danced", "[3]")
    assert not trace.notice


def of_kind(trace: Trace, kind: type[AnyEvent]) -> list[AnyEvent]:
    return [event for event in trace if isinstance(event, kind)]


# -- registrations that change -----------------------------------------------------------------------------------------


def test_entry_is_described_as_it_was_when_picked() -> None:
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


def test_fallthrough_is_recorded_as_it_was_during_the_call() -> None:
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
    """Return a function that adds in a thread of its own, step by step with the others."""

    def work() -> None:
        x = torch.ones(2, requires_grad=True)
        for _ in range(count):
            barrier.wait()
            torch.add(x, x)

    return work


def nested_rightly(trace: Trace) -> None:
    """Assert that every kernel is within its own call, and every Node within a kernel of its operator."""
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


def test_older_thread_is_distinguished() -> None:
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


def test_binding_ends_with_its_call() -> None:
    x, y = torch.ones(2), torch.ones(2)
    torch.add(x, y)  # fills the cache, so later calls skip the parser
    with dispatchviz.record() as trace:
        torch.add(x, y)
        torch.mul(x, y)
    add, mul = of_kind(trace, BindingEntered)
    assert trace[mul.parent].parent is None
    assert trace.ends[add.seq] < mul.seq


def test_failed_binding_ends() -> None:
    x, y = torch.ones(2), torch.ones(3)
    torch.add(x, x)
    with dispatchviz.record() as trace:
        with pytest.raises(RuntimeError, match="must match the size"):
            torch.add(x, y)
        torch.mul(x, x)
    add, mul = of_kind(trace, BindingEntered)
    assert trace.ends[add.seq] < mul.seq


# -- faults of ours ----------------------------------------------------------------------------------------------------


def test_internal_error_while_reading_ends_the_trace_with_a_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(self: EventBuilder, *facts: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(EventBuilder, "node_created", fault)
    with dispatchviz.record() as trace:
        result = torch.ones(2, requires_grad=True) + 1
    assert result.tolist() == [2.0, 2.0]
    with pytest.warns(RuntimeWarning, match="recording stopped"):
        assert len(trace) > 3
    assert "because of a bug in dispatchviz: ZeroDivisionError('ours')" in trace.notice
    assert recorder.active is None


def test_recording_can_be_read_while_it_continues() -> None:
    x = torch.ones(2)
    with dispatchviz.record() as trace:
        torch.add(x, x)
        before = len(trace)
        torch.add(x, x)
        assert len(trace) > before
    assert [e.operator for e in of_kind(trace, BindingEntered)] == ["aten::add.Tensor"] * 2
