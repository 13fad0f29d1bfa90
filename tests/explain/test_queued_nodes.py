"""The Nodes in a ready queue, derived from pushes and pops, equal those in the engine's queue at each event."""

from __future__ import annotations

import contextlib
import cProfile
import itertools
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.recorders.engine_recorder import EngineRecorder
from dispatchviz.core.thread.thread_state import thread
from dispatchviz.explain.graph import queued_nodes
from dispatchviz.explain.graph.queued_nodes import queue_at
from dispatchviz.explain.kinds.all_kinds import label, why_here
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.outputs.log.text_log import text_log
from dispatchviz.trace import Trace

Program = Callable[[], object]
Queues = list[tuple[str, int, list[tuple[int, int]]]]


def queues(trace: Trace) -> Queues:
    """Each push and pop, in order: its kind, the Node, and the Nodes in the queue then."""
    moves = [event for event in trace if isinstance(event, (ev.NodeQueued, ev.NodeStarted))]
    return [
        (type(event).__name__, event.node, [(each.node, each.sequence_nr) for each in queue_at(trace, event)])
        for event in moves
    ]


def recorded(program: Program) -> Trace:
    thread.state.sequence_nr = 0  # so that two runs give the same numbers
    with dispatchviz.record() as trace:
        program()
    return trace


def listed(event: ev.AnyEvent) -> bool:
    """Return whether an event lists its queue."""
    return (isinstance(event, ev.NodeQueued) and event.queue is not None) or (
        isinstance(event, ev.NodeStarted) and event.waiting is not None
    )


@pytest.fixture
def engines_own(monkeypatch: pytest.MonkeyPatch) -> Callable[[Program], Trace]:
    """Record a program so that each push and pop lists the engine's queue, which recordings normally leave out."""

    def record(program: Program) -> Trace:
        with monkeypatch.context() as patch:
            another = itertools.count(-1, -1)
            never = property(lambda self: next(another), lambda self, value: None)
            patch.setattr(EngineRecorder, "queue_token", never, raising=False)
            trace = recorded(program)
        moves = [event for event in trace if isinstance(event, (ev.NodeQueued, ev.NodeStarted))]
        assert moves
        assert all(map(listed, moves))
        return trace

    return record


def leaves(number: int) -> list[Any]:
    return [torch.ones(2, requires_grad=True) for _ in range(number)]


def fan_in() -> None:
    """Branches of a few lengths, so that equal and other numbers wait for each other."""
    branches = []
    for place, leaf in enumerate(leaves(12)):
        branch = leaf * 2
        for _ in range(place % 4):
            branch = branch.exp()
        branches.append(branch)
    torch.stack(branches).sum().backward()


def accumulators_only() -> None:
    torch.stack(leaves(9)).sum().backward()


def nested() -> None:
    """Each of several branches runs a backward of its own, with Nodes of its own that wait."""
    outer = leaves(4)

    @torch.enable_grad()
    def inner(_: object) -> None:
        (torch.stack(leaves(3)).exp() * torch.stack(leaves(2)).sum()).sum().backward()

    branches = [leaf.sin() for leaf in outer]
    for branch in branches[1:3]:
        branch.register_hook(inner)
    (torch.stack(branches).sum() + outer[0].exp().sum()).backward()


def nested_fails() -> None:
    """The inner backward leaves Nodes behind, and the outer one goes on."""
    branches = [leaf.sin() for leaf in leaves(6)]

    @torch.enable_grad()
    def inner(_: object) -> None:
        bad = leaves(5)
        bad[4].register_hook(fail)
        with pytest.raises(ValueError, match="hook"):
            torch.stack([leaf * 2 for leaf in bad]).sum().backward()

    branches[2].register_hook(inner)
    torch.stack(branches).sum().backward()


def within(run: Program) -> Callable[[object], None]:
    """A hook in which Nodes can be made."""

    def hook(_: object) -> None:
        with torch.enable_grad():
            run()

    return hook


def fail(_: object) -> None:
    raise ValueError("hook")


def outermost_fails() -> None:
    """Fail in the outermost pass. The Nodes left in its queue do not count for the next pass."""
    bad = leaves(5)
    bad[2].register_hook(fail)
    for _ in range(2):
        with pytest.raises(ValueError, match="hook"):
            torch.stack(bad).sum().backward()
    fan_in()


def renumbered() -> None:
    """A hook gives a Node that waits another number."""
    branches = [leaf.sin() for leaf in leaves(7)]

    def renumber(_: object) -> None:
        branches[0].grad_fn._set_sequence_nr(10**6)

    branches[5].register_hook(renumber)
    torch.stack(branches).sum().backward()
    fan_in()


def captured_with_hooks() -> None:
    """``grad`` pops leaves that do not run; the hook of one runs a backward."""
    wanted = leaves(6)
    wanted[2].register_hook(within(fan_in))
    wanted[5].register_hook(within(lambda: torch.ones(1, requires_grad=True).exp().backward()))
    torch.autograd.grad(torch.stack([leaf * 1 for leaf in wanted]).sum(), wanted)
    fan_in()


def same_node_twice() -> None:
    """Two backwards, one within the other, wait at one Node."""
    shared = torch.ones(2, requires_grad=True)
    both = shared.exp()
    branch = shared.sin()
    branch.register_hook(within(lambda: both.sum().backward(retain_graph=True)))
    (both.cos() + branch + both).sum().backward()


def of_a_random_graph(seed: int) -> Program:
    def run() -> None:
        chance = random.Random(seed)
        tensors = leaves(5)
        for _ in range(40):
            a, b = chance.choice(tensors), chance.choice(tensors[-8:])
            tensors.append(chance.choice([a + b, a * b, a.sin(), b.neg(), torch.stack([a, b]).sum(0)]))
        if seed % 2:
            torch.autograd.grad(tensors[-1].sum(), tensors[:2], allow_unused=True)
        else:
            torch.stack(tensors[-6:]).sum().backward()

    return run


PROGRAMS = {
    each.__name__: each
    for each in (
        fan_in,
        accumulators_only,
        nested,
        nested_fails,
        outermost_fails,
        renumbered,
        captured_with_hooks,
        same_node_twice,
    )
}
PROGRAMS.update({f"random {seed}": of_a_random_graph(seed) for seed in range(8)})


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_derived_queue_is_the_engines(name: str, engines_own: Callable[[Program], Trace]) -> None:
    assert queues(recorded(PROGRAMS[name])) == queues(engines_own(PROGRAMS[name]))


@pytest.mark.parametrize("name", ["fan_in", "nested", "outermost_fails", "random 3"])
def test_no_event_lists_a_queue_that_follows(name: str) -> None:
    assert not any(map(listed, recorded(PROGRAMS[name])))


@pytest.mark.parametrize("name", ["nested_fails", "renumbered", "captured_with_hooks"])
def test_a_queue_that_does_not_follow_is_listed_until_it_is_empty(name: str) -> None:
    trace = recorded(PROGRAMS[name])
    assert any(map(listed, trace))
    last = [event for event in trace if isinstance(event, ev.NodeStarted)][-1]
    assert not listed(last) or name == "nested_fails"


def test_a_recording_that_begins_within_a_backward(engines_own: Callable[[Program], Trace]) -> None:
    """Nodes that were queued before the recording began are listed all the same."""

    def recorded_from_within(record: Callable[[Program], Trace]) -> tuple[Trace, list[int]]:
        started: list[Any] = []
        branches = [leaf.sin() for leaf in leaves(5)]

        @torch.enable_grad()
        def inner(_: object) -> None:
            started.append(record(lambda: (fan_in(), nested())))

        branches[4].register_hook(inner)
        torch.stack(branches).sum().backward()
        (trace,) = started
        return trace, [len(list(queue_at(trace, e))) for e in trace if isinstance(e, ev.NodeStarted)]

    trace, sizes = recorded_from_within(recorded)
    assert sizes == recorded_from_within(engines_own)[1]
    assert min(sizes) == 4  # those of the outer backward wait all the time
    assert any(map(listed, trace))


def test_a_recording_that_begins_within_a_backward_and_sees_its_end() -> None:
    """The queue is empty at the beginning. Later Nodes belong to a backward whose root the recording has not seen."""

    def begun_within() -> None:
        branches = torch.stack([leaf.sin() for leaf in leaves(5)])
        branches.register_hook(within(fan_in))
        branches.register_hook(lambda _: begin())
        branches.register_hook(within(fan_in))
        branches.sum().backward()

    def begin() -> None:
        traces.append(stack.enter_context(dispatchviz.record()))

    traces: list[Any] = []
    with contextlib.ExitStack() as stack:
        begun_within()
    (trace,) = traces
    queued = [event for event in trace if isinstance(event, ev.NodeQueued)]
    outer = [event for event in queued if around(trace, event.seq, ev.BackwardStarted) is None]
    assert len(outer) == 10
    assert [len(list(queue_at(trace, event))) for event in outer[:5]] == [1, 2, 3, 4, 5]
    assert all(map(listed, outer))


def test_each_thread_has_a_queue_of_its_own() -> None:
    """Run two backwards at a time. Each lets the other one continue halfway."""
    turns = [threading.Semaphore(1), threading.Semaphore(0)]

    def work(own: int) -> None:
        branches = [leaf.sin() for leaf in leaves(4)]

        def wait(_: object) -> None:
            turns[1 - own].release()
            assert turns[own].acquire(timeout=60)

        for branch in branches:
            branch.register_hook(wait)
        assert turns[own].acquire(timeout=60)
        torch.stack(branches).sum().backward()
        turns[1 - own].release()

    with dispatchviz.record() as trace:
        threads = [threading.Thread(target=work, args=(own,)) for own in (0, 1)]
        for worker in threads:
            worker.start()
        for worker in threads:
            worker.join()
    nodes: dict[int | None, set[int]] = {}
    for event in trace:
        if isinstance(event, (ev.NodeQueued, ev.NodeStarted)):
            around = next(e.seq for e in trace.ancestors(event.seq) if isinstance(e, ev.BackwardStarted))
            nodes.setdefault(around, set()).update(each.node for each in queue_at(trace, event))
    first, second = nodes.values()
    assert first
    assert second
    assert not first & second
    assert not any(map(listed, trace))


@pytest.mark.long
def test_a_queue_of_any_step_in_any_order() -> None:
    """Read stored heaps too, and steps before a later step that was read."""
    trace = recorded(lambda: torch.stack([leaf.exp().sin() for leaf in leaves(400)]).sum().backward())
    moves = [event for event in trace if isinstance(event, (ev.NodeQueued, ev.NodeStarted))]
    assert len(moves) > 4 * queued_nodes.KEPT_EVERY
    forward = {event.seq: list(queue_at(trace, event)) for event in moves}
    for event in random.Random(1).sample(moves, 150):
        assert list(queue_at(trace, event)) == forward[event.seq]


def test_the_file_keeps_what_the_queue_follows_from(tmp_path: Path) -> None:
    trace = recorded(nested_fails)
    trace.save(tmp_path / "trace.jsonl")
    assert queues(dispatchviz.load(tmp_path / "trace.jsonl")) == queues(trace)


def test_a_pop_of_a_node_that_is_not_queued_changes_nothing() -> None:
    """Read a trace with a damaged part."""
    trace = recorded(fan_in)
    events = list(trace)
    lost = next(event for event in events if isinstance(event, ev.NodeQueued) and event.seq > len(events) * 2 // 3)
    events[lost.seq] = ev.Unknown(lost.seq, lost.parent, "NodeQueued", "[]")
    damaged = Trace(trace.header, events)
    was, now = dict(_by_step(trace)), dict(_by_step(damaged))
    assert all([each for each in was[step] if each != lost.node] == now[step] for step in now)


def _by_step(trace: Trace) -> Iterator[tuple[int, list[int]]]:
    for event in trace:
        if isinstance(event, (ev.NodeQueued, ev.NodeStarted)):
            yield event.seq, [each.node for each in queue_at(trace, event)]


def calls_per_event(branches: int) -> float:
    """The number of function calls per event for the rows, sentences and log of a backward with ``branches``
    branches.
    """
    trace = recorded(lambda: torch.stack([leaf.sin() for leaf in leaves(branches)]).sum().backward())
    profile = cProfile.Profile()
    profile.enable()
    for at in range(len(trace)):
        label(trace, at)
        why_here(trace, at)
    for _ in text_log(trace):
        pass
    profile.disable()
    return sum(entry.callcount for entry in profile.getstats()) / len(trace)


@pytest.mark.long
def test_sentence_cost_is_independent_of_waiting_branches() -> None:
    calls_per_event(2)  # what is looked up once
    assert calls_per_event(240) < 1.3 * calls_per_event(30)
