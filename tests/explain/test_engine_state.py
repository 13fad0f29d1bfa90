"""The engine as of a step is what a plain pass over the events, from the first one on, makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.graph.engine_state import Waiting, buffer_of, engine_state, left_of
from dispatchviz.explain.graph.graph_history import backward_around, history
from dispatchviz.testing import event
from dispatchviz.trace import Trace
from tests.model_runs import recorded
from tests.steps import step
from truth import programs


@dataclass
class Pass:
    """A backward pass, event by event."""

    counts: dict[int, int] = field(default_factory=dict)
    buffers: dict[int, dict[int, int]] = field(default_factory=dict)
    ready: list[int] = field(default_factory=list)
    ran: int = 0


class Replay:
    """All passes of a trace, up to the last event that was passed in."""

    def __init__(self) -> None:
        self.passes: dict[int, Pass] = {}
        self.around: dict[int | None, int | None] = {None: None}
        """Event to the innermost BackwardStarted that it is or is within."""

    def tell(self, event: ev.AnyEvent) -> None:
        outer = self.around[event.parent]
        self.around[event.seq] = event.seq if isinstance(event, ev.BackwardStarted) else outer
        if isinstance(event, ev.BackwardStarted):
            self.passes[event.seq] = Pass()
        elif outer is not None:
            _follow(self.passes[outer], event)

    def of(self, seq: int) -> Pass | None:
        start = self.around[seq]
        return None if start is None else self.passes[start]


def _follow(told: Pass, event: ev.AnyEvent) -> None:
    match event:
        case ev.DependenciesCounted():
            told.counts = dict(event.counts)
        case ev.DependencyMet():
            told.counts[event.node] = 0 if event.skipped else event.left
        case ev.GradientBuffered():
            told.buffers.setdefault(event.node, {})[event.input_nr] = event.tensor
        case ev.NodeQueued():
            told.ready.append(event.node)
        case ev.NodeStarted() | ev.NodeSkipped():
            told.ready.remove(event.node)
            told.buffers.pop(event.node, None)
            told.ran += isinstance(event, ev.NodeStarted)


SUBJECTS = ["engine", "autograd", "hooks", "functions", "training", "derivatives", "func"]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_engine_is_where_a_pass_over_the_events_gets(subject: str) -> None:
    for name, source in list(programs.SUBJECTS[subject].items())[::3]:
        trace, replay = recorded(source), Replay()
        for at, told in enumerate(trace):
            replay.tell(told)
            expected = replay.of(at)
            if expected is None:
                assert engine_state(trace, at) is None
            elif trace.columns.kinds[at] in ENGINE(trace):
                _compare(trace, at, expected, name)


def ENGINE(trace: Trace) -> set[int]:
    """The kinds of events that change something."""
    kinds = (ev.BackwardStarted, ev.DependenciesCounted, ev.DependencyMet, ev.GradientBuffered, ev.NodeQueued,
             ev.NodeStarted, ev.NodeSkipped, ev.NodeFinished, ev.Dispatched)  # fmt: skip
    return set(map(trace.columns.code, kinds))


def _compare(trace: Trace, at: int, expected: Pass, name: str) -> None:
    state, backward = engine_state(trace, at), backward_around(trace, at)
    assert state is not None
    assert backward is not None
    for node in {*expected.counts, *expected.buffers}:
        assert left_of(trace, backward, node, at) == expected.counts.get(node, 0), (name, at, node)
        buffer = {each.input_nr: each.tensor for each in buffer_of(trace, backward, node, at)}
        assert buffer == expected.buffers.get(node, {}), (name, at, node)
    own = [ready.queued.node for ready in state.ready if ready.queued.depth == backward.event.depth]
    assert sorted(own) == sorted(expected.ready) or state.more_ready, (name, at)
    assert [ready.queued.sequence_nr for ready in state.ready] == sorted(
        (ready.queued.sequence_nr for ready in state.ready), reverse=True
    ) or backward.event.depth, (name, at)
    assert state.ran == expected.ran, (name, at)
    assert all(expected.counts[each.node] == each.left for each in state.waiting), (name, at)


BRANCHES = """\
import torch
x = torch.ones(2, requires_grad=True)
a = x * 2
b = x * 3
(a + b).sum().backward()
"""


def test_waiting_node_names_its_missing_gradients() -> None:
    trace = recorded(BRANCHES)
    accumulate = next(e.node for e in trace if isinstance(e, ev.NodeCreated) and "AccumulateGrad" in e.name)
    first = step(trace, event(ev.NodeFinished), 2)
    state = engine_state(trace, first)
    assert state is not None
    assert Waiting(accumulate, 2, 2, ()) in state.waiting
    between = next(e.seq for e in trace if isinstance(e, ev.GradientBuffered) and e.node == accumulate)
    after = engine_state(trace, between)
    assert after is not None
    (waiting,) = [each for each in after.waiting if each.node == accumulate]
    assert (waiting.left, waiting.count, [each.how for each in waiting.buffer]) == (1, 2, ["stored"])
    assert (after.reached, after.ran, after.more_ready) == (5, 3, 0)


TWO_THREADS = """\
import threading
import torch
meet = threading.Barrier(2)
def work(factor):
    x = torch.ones(2, requires_grad=True)
    y = (x * factor).exp()
    y.register_hook(lambda grad: (meet.wait(), None)[1])
    y.sum().backward()
threads = [threading.Thread(target=work, args=(factor,)) for factor in (2, 3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_concurrent_passes_of_two_threads_are_distinguished() -> None:
    trace = recorded(TWO_THREADS)
    first, second = history(trace).backwards
    assert first.event.seq < second.event.seq < first.end
    for backward in (first, second):
        names = [event.name for step in backward.starts if isinstance(event := trace[step], ev.NodeStarted)]
        assert [name.rpartition("::")[2] for name in names] == [
            "SumBackward0", "ExpBackward0", "MulBackward0", "AccumulateGrad"
        ]  # fmt: skip
        assert [history(trace).order(step) for step in backward.starts] == [1, 2, 3, 4]
