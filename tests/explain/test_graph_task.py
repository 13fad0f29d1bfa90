"""The graph task that is derived from events equals the engine's own at every event. Its members are listed once
each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.thread.thread_state import thread
from dispatchviz.explain.graph.engine.graph_task import graph_task_card
from dispatchviz.explain.graph.engine.task_progress import Pending, progress
from dispatchviz.explain.graph.graph_history import backward_around
from dispatchviz.trace import Trace
from tests.model_runs import recorded
from tests.watching_recorder import WatchingRecorder
from truth import programs


class Stood(NamedTuple):
    """The graph task of the thread when an event was noted."""

    depth: int
    outstanding: int
    pending: Pending


class Watching(WatchingRecorder[Stood | None]):
    """A recorder that looks at the running graph task at each note."""

    def _look(self, facts: tuple[Any, ...]) -> Stood | None:
        task = thread.state.graph_task
        if task is None:
            return None
        left = Pending(len(task.dependencies), sum(task.dependencies.values()), len(task.not_ready))
        return Stood(task.reentrant_depth, task.outstanding, left)


def watched(monkeypatch: pytest.MonkeyPatch, source: str) -> tuple[Trace, list[Stood | None]]:
    monkeypatch.setattr("dispatchviz.running.recording.ProgramRecorder", Watching)
    trace = recorded(source)
    assert Watching.newest.failed is None
    return trace, Watching.newest.stood


MOVES = (ev.DependencyMet, ev.NodeQueued, ev.GradientBuffered, ev.SourceLine)
"""Noted in the middle of passing a gradient on; a line is noted with what happens on it."""


def _runs(trace: Trace, at: int) -> bool:
    """Within a Node: outside the graph task may not be the thread's yet, or no more."""
    return any(isinstance(event, ev.NodeStarted) for event in (trace[at], *trace.ancestors(at)))


@pytest.mark.parametrize("subject", ["engine", "hooks", "functions", "autograd"])
def test_remaining_counts_match_the_engine(monkeypatch: pytest.MonkeyPatch, subject: str) -> None:
    compared = 0
    for name, source in list(programs.SUBJECTS[subject].items())[::3]:
        trace, stood = watched(monkeypatch, source)
        for at, stands in enumerate(stood):
            backward = backward_around(trace, at)
            if stands is None or backward is None or isinstance(trace[at], MOVES) or not _runs(trace, at):
                continue
            if stands.depth < backward.event.depth:
                continue  # the inner task is not in force yet, or no more
            told = progress(backward, trace.columns.nodes.__getitem__)
            assert told.outstanding(at) == stands.outstanding, (name, at)
            assert told.pending(at) == stands.pending, (name, at)
            assert backward.event.depth == stands.depth, (name, at)
            compared += 1
    assert compared > 100


def members(source: str, within: type[ev.Event], which: int = 0) -> dict[str, str]:
    """The members at the last step of a kind, or at another of its steps."""
    trace = recorded(source)
    card = graph_task_card(trace, trace.steps_of(within)[which])
    assert len({member.name for member in card}) == len(card)
    return {member.name: member.value for member in card}


GRAD = """\
import torch
x = torch.ones(2, requires_grad=True)
y = torch.ones(2, requires_grad=True)
gx, = torch.autograd.grad((x * y).sum(), x, create_graph=True)
"""


def test_the_members_of_a_pass_for_some_gradients() -> None:
    found = members(GRAD, ev.GradientCaptured)
    assert (found["keep_graph_"], found["thread_locals_"]) == ("true", "grad mode on")
    assert (found["captured_vars_"], found["can_checkpoint()"]) == ("1 of 1", "false")
    assert (found["exec_info_"], found["nodes_in_graph_"]) == ("2 needed_, 1 capture", "3")
    assert (found["owner_"], found["reentrant_depth_"]) == ("CPU_DEVICE (-1)", "0")
    assert members(GRAD, ev.BackwardFinished)["outstanding_tasks_"] == "0"


def test_the_members_of_a_pass_within_a_node_of_cuda() -> None:
    source = """\
import torch
x = torch.ones(2, device="cuda", requires_grad=True)
def again(grad):
    with torch.enable_grad():
        torch.ones(1, requires_grad=True).backward()
y = x * 2
y.register_hook(again)
y.sum().backward()
"""
    found = members(source, ev.BackwardStarted, 1)
    assert (found["owner_"], found["reentrant_depth_"], found["exec_info_"]) == ("0", "1", "empty")
