"""The state of the thread at each step, and the steps of other threads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import dispatchviz
from dispatchviz.core.record import events as ev
from dispatchviz.core.thread.thread_state import thread
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.explain.outline.row_texts import row_texts
from dispatchviz.explain.trace_index.enclosing_steps import source_line
from dispatchviz.explain.trace_index.other_threads import has_threads, line_elsewhere, lines_meanwhile
from dispatchviz.explain.trace_index.thread_state import thread_state
from dispatchviz.outputs.log.text_log import text_log
from dispatchviz.running.program import run
from dispatchviz.testing import event
from dispatchviz.trace import Trace
from tests.model_runs import model, recorded
from tests.steps import line, step
from tests.watching_recorder import WatchingRecorder
from truth import programs
from truth.observers.runs import Run

from .programs import traced

EXAMPLES = Path(__file__).parents[2] / "examples"


class Stood(NamedTuple):
    """The state of the thread when an event was noted."""

    included: int
    excluded: int
    grad: bool
    inference: bool
    transforms: tuple[str, ...]
    modes: tuple[str, ...]
    autocast: dict[str, bool]


class Watching(WatchingRecorder[Stood]):
    """A recorder that looks at the thread at each note."""

    def _look(self, facts: tuple[Any, ...]) -> Stood:
        return _standing()


def _standing() -> Stood:
    from dispatchviz.core.layers.autocast.autocast_mode import is_autocast_enabled

    state = thread.state
    return Stood(
        state.included,
        state.excluded,
        state.grad_mode,
        state.inference_mode,
        tuple(type(layer.interpreter).__name__.lower().removesuffix("interpreter") for layer in state.dynamic_layers),
        tuple(type(mode).__name__ for mode in state.modes),
        {device: is_autocast_enabled(device) for device in ("cpu", "cuda")},
    )


def watched(monkeypatch: pytest.MonkeyPatch, source: str) -> tuple[Trace, list[Stood]]:
    """The trace of a program, and what the thread had at each event."""
    monkeypatch.setattr("dispatchviz.running.recording.ProgramRecorder", Watching)
    trace = recorded(source)
    assert Watching.newest.failed is None
    return trace, Watching.newest.stood


TOLD_LATE = (ev.SourceLine, ev.ErrorRaised)
"""A line is noted with what happens on it, an error when it has left the guards around it."""

NOTED_APART = (ev.GuardEntered, ev.KernelReturned)
"""Noted before the thread excludes the keys of a guard, or after it no longer does."""

SUBJECTS = ["modes", "autocast", "func", "vmap", "engine", "inference", "hooks", "custom_operators", "forward_ad"]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_state_is_that_of_the_thread(monkeypatch: pytest.MonkeyPatch, subject: str) -> None:
    for name, source in list(programs.SUBJECTS[subject].items())[::4]:
        trace, stood = watched(monkeypatch, source)
        assert len(stood) == len(trace)
        for at, stands in enumerate(stood):
            if isinstance(trace[at], TOLD_LATE):
                continue
            told = derived(trace, at)
            if isinstance(trace[at], NOTED_APART):
                told = told._replace(excluded=stands.excluded)
            assert told == stands, (name, at)


def derived(trace: Trace, at: int) -> Stood:
    state = thread_state(trace, at)
    autocast = {"cpu": False, "cuda": False} | {each.device: each.on for each in state.autocast}
    return Stood(
        state.included, state.excluded, state.grad.on, state.inference.on, state.transforms, state.modes, autocast
    )


STATE = """\
import torch
x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    with torch.autocast("cpu"):
        y = x + x
z = x * 2
"""


def test_state_names_guards_modes_and_autocast() -> None:
    with dispatchviz.record() as trace:
        Run(model, STATE).whole()
    at = step(trace, event(ev.KernelEntered, kernel="wrapper_CPU_add_Tensor"))
    state = thread_state(trace, at)
    assert [(guard.name, guard.is_mode) for guard in state.guards] == [("AutoDispatchBelowADInplaceOrView", False)]
    assert (state.grad.on, state.grad.why, state.inference.on) == (False, "torch.no_grad()", False)
    assert [(each.device, each.on, each.dtype) for each in state.autocast] == [("cpu", True, "torch.bfloat16")]
    assert not state.is_plain
    assert thread_state(trace, 0).is_plain
    assert thread_state(trace, len(trace) - 1).is_plain


@pytest.mark.parametrize("name", ["autocast.py", "hooks.py", "forum.py"])
def test_asked_of_all_steps_in_order_the_answers_are_those_of_each_alone(name: str) -> None:
    trace = run(str(EXAMPLES / name)).trace
    in_order = [thread_state(trace, at) for at in range(len(trace))]
    assert in_order[::-1] == [thread_state(trace, at) for at in reversed(range(len(trace)))]


MEANWHILE = """\
import threading
import torch
x = torch.ones(2, requires_grad=True)
ready, go = threading.Event(), threading.Event()
def forward():
    y = (ready.set() or go.wait() and x) * 2
thread = threading.Thread(target=forward)
thread.start()
ready.wait()
go.set()
thread.join()
"""


@pytest.fixture(scope="module")
def trace() -> Trace:
    return traced(MEANWHILE)


def call(trace: Trace) -> int:
    """The call of ``mul`` in the thread."""
    calls = (event for event in trace if isinstance(event, ev.Dispatched) and event.operator == "aten::mul.Tensor")
    return next(event.seq for event in calls)


def test_the_line_that_goes_on(trace: Trace) -> None:
    begun, at = line(trace, 6), call(trace)
    assert has_threads(trace)
    assert line_elsewhere(trace, at) == begun
    assert line_elsewhere(trace, line(trace, 10)) is None
    assert lines_meanwhile(trace, at, at) == [begun]


def test_the_log_says_which_line_goes_on(trace: Trace) -> None:
    log = [*text_log(trace)]
    said = next(place for place, text in enumerate(log) if "continues, on" in text)
    assert log[said].strip() == "> (line 6 in forward continues, on another thread than above)"
    assert re.match(r" *\d+ > line (10|11)  ", log[said - 1])


def test_the_list_says_of_a_row_that_it_is_of_another_thread(trace: Trace) -> None:
    outline = Outline(trace, 0)
    assert ("line 6, another thread", "program") in row_texts(outline, call(trace))[1]
    rows = [row_texts(outline, item) for item in outline.children(None)]
    (row,) = [facts for _, facts in rows if any("mul" in text for text, _ in facts)]
    assert ("with line 6 of another thread", "program") in row


@pytest.mark.parametrize("subject", ["hooks", "engine", "functions"])
def test_single_thread_has_no_thread_lines(subject: str) -> None:
    for source in list(programs.SUBJECTS[subject].values())[::4]:
        if "thread" not in source:
            assert not has_threads(traced(source))


def test_the_line_around_a_step_is_that_of_its_own_thread(trace: Trace) -> None:
    around = source_line(trace, call(trace))
    assert around is not None
    assert (around.line, around.function) == (6, "forward")
