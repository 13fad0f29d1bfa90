"""Check that the answers about a tensor agree with a plain pass over the events, and with the machine's own tensors."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.things.answer import MOST, Question, nearest
from dispatchviz.explain.things.calls_around import maker
from dispatchviz.explain.things.tensor_questions import changes, lost_names, mates, tensor_questions, used_by
from dispatchviz.explain.things.thing import NodeThing, TensorThing
from dispatchviz.explain.things.uses import Uses, uses
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.trace import Trace
from tests.explain.programs import traced
from tests.explain.test_step_tensors import Watching, watched
from tests.steps import line, step
from truth import programs

from .traces import SUBJECTS, tensors, traces


def answers_about(trace: Trace, tensor: int, at: int) -> dict[str, Question]:
    return {each.asked: each for each in tensor_questions(trace, tensor, at, uses(trace).finish())}


def is_within(trace: Trace, step: int, outer: int) -> bool:
    return outer in [event.seq for event in trace.ancestors(step)]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_uses_are_the_calls_that_got_the_tensor(subject: str) -> None:
    told = 0
    for name, trace in traces(subject):
        found = uses(trace).finish()
        got: dict[int, list[int]] = {}
        for event in trace:
            if isinstance(event, ev.KeySetComputed):
                for tensor in {number for _, number, _ in event.arguments}:
                    assert event.parent is not None
                    got.setdefault(tensor, []).append(event.parent)
        for tensor in tensors(trace):
            made = index(trace).tensors[tensor]
            call = maker(trace, made.seq, tensor) if made.how == "new" else None
            calls = [each for each in got.get(tensor, []) if call is None or each > trace.ends[call.seq]]
            outer = [each for each in calls if not any(is_within(trace, each, other) for other in calls)]
            assert used_by(trace, tensor, found) == outer, (name, tensor)
            told += len(outer)
            for each in outer:
                use, event = found.use(each, tensor), trace[each]
                assert use is not None
                assert isinstance(event, ev.Dispatched)
                assert event.how.startswith("call")
                assert use.operator == event.operator
                passed = [arg for arg, number, _ in trace[each + 1].arguments if number == tensor]  # type: ignore[union-attr]
                assert list(use.parameters) == passed
    assert told > 20


@pytest.mark.parametrize("subject", SUBJECTS)
def test_maker_returns_the_tensor(subject: str) -> None:
    """The named call returns the tensor, and no call around it does. If no call returns it, it is made within the
    call.
    """
    for name, trace in traces(subject):
        for tensor in tensors(trace):
            made = index(trace).tensors[tensor]
            (origin, *_) = answers_about(trace, tensor, len(trace) - 1)["Who made it?"].answers
            assert origin.seq == made.seq
            if made.how != "new":
                assert origin.text.startswith("made before the recording began")
                continue
            call = maker(trace, made.seq, tensor)
            around = [event for event in trace.ancestors(made.seq) if isinstance(event, ev.Dispatched)]
            if call is None:
                continue
            assert call in around, (name, tensor)
            assert origin.text == f"made by {call.operator.removeprefix('aten::')}"
            returned = [
                event
                for event in trace
                if isinstance(event, ev.KernelReturned) and tensor in event.tensors and event.seq > made.seq
            ]
            returning = {kernel.parent for event in returned for kernel in [trace[event.parent]]}  # type: ignore[index]
            outside = [event.seq for event in around if event.seq < call.seq and not _cut_off(trace, event, made.seq)]
            assert not returning & set(outside), (name, tensor)


def _cut_off(trace: Trace, call: ev.Dispatched, seq: int) -> bool:
    """Return whether a Node, a Function or a line of the user is between a call and an event in it."""
    between = (event for event in trace.ancestors(seq) if event.seq > call.seq)
    return any(isinstance(event, ev.NodeStarted | ev.FunctionEntered | ev.SourceLine) for event in between)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_savers_and_releases_are_those_of_the_events(subject: str) -> None:
    for name, trace in traces(subject):
        saved = [event for event in trace if isinstance(event, ev.VariableSaved)]
        freed = [event for event in trace if isinstance(event, ev.VariablesReleased)]
        for tensor in {event.tensor for event in saved if event.tensor is not None}:
            own = [event for event in saved if event.tensor == tensor]
            answers = answers_about(trace, tensor, len(trace) - 1)
            told = answers["Who saved it for backward?"]
            assert len(own) == len(told.answers) + told.more, (name, tensor)
            for answer in told.answers:
                event = trace[answer.seq]  # type: ignore[index]
                assert event in own
                assert f" as {event.name} " in f"{answer.text} ".replace(",", " ")  # type: ignore[union-attr]
                assert answer.thing == NodeThing(event.node)  # type: ignore[union-attr]
            ends = [answer for answer in answers["Where does it end?"].answers if "frees" in answer.text]
            for answer in ends:
                assert trace[answer.seq] in freed  # type: ignore[index]
                assert any(NodeThing(e.node) == answer.thing and e.seq < answer.seq for e in own)  # type: ignore[operator]


@pytest.mark.parametrize("subject", ["views", "in_place", "setting_memory", "autograd", "training"])
def test_version_changes_only_at_listed_changes(monkeypatch: pytest.MonkeyPatch, subject: str) -> None:
    """The machine's own version counters are read whenever an event is recorded."""
    moved = 0
    for name, source in list(programs.SUBJECTS[subject].items())[::4]:
        trace, stood = watched(monkeypatch, source)
        for tensor in {number for each in stood for number in each}:
            steps = changes(trace, tensor)
            before, seen = None, -1
            for at, tensors_ in enumerate(stood):
                now = tensors_.get(tensor)
                if now is None or now.version is None:
                    continue
                if before is not None and now.version > before:
                    moved += 1
                    assert any(seen <= step <= at + 1 for step in steps), (name, tensor, at)
                before, seen = now.version, at
    assert moved or subject in ("training", "autograd")


@pytest.mark.parametrize("subject", SUBJECTS)
def test_changes_are_all_version_bumps_on_the_memory(subject: str) -> None:
    for name, trace in traces(subject):
        storages = {event.tensor: event.storage for event in trace if isinstance(event, ev.TensorCreated)}
        for tensor in tensors(trace):
            own = storages[tensor]
            same = {other for other, storage in storages.items() if other == tensor or storage == own >= 0}
            bumps = [event.seq for event in trace if isinstance(event, ev.VersionBumped) and event.tensor in same]
            grads = [e.seq for e in trace if isinstance(e, ev.GradientAccumulated) and e.tensor == tensor]
            assert changes(trace, tensor) == sorted(bumps + grads), (name, tensor)
            assert set(mates(trace, tensor)) == same - {tensor}
            told = answers_about(trace, tensor, 0)["Who changed it?"]
            assert len(told.answers) + told.more == len(bumps) + len(grads)


@pytest.mark.parametrize("subject", ["views", "in_place", "autograd", "training"])
def test_name_is_lost_when_the_variable_is_rebound(monkeypatch: pytest.MonkeyPatch, subject: str) -> None:
    for name, source in list(programs.SUBJECTS[subject].items())[::4]:
        trace, _ = watched(monkeypatch, source)
        first = Watching.newest.first_tensor
        alive = {
            variable: value._number - first
            for variable, value in Watching.variables.items()
            if hasattr(value, "_number") and hasattr(value, "_size")
        }
        for tensor in tensors(trace):
            lost = list(lost_names(trace, tensor))
            for variable, at in lost:
                event = trace[at]
                assert isinstance(event, ev.NameBound | ev.NameUnbound), name
                assert event.name == variable
                assert (event.tensor == tensor) == isinstance(event, ev.NameUnbound)
            bound = [e.name for e in trace if isinstance(e, ev.NameBound) and e.tensor == tensor]
            kept = {each for each in bound if bound.count(each) > [variable for variable, _ in lost].count(each)}
            for variable in kept & alive.keys():
                assert alive[variable] == tensor, (name, variable)


PROGRAM = """
import torch
x = torch.ones(2, 2, requires_grad=True)
w = torch.ones(2)
row = w.view(2, 1)
y = x * w
w.add_(1)
loss = y.detach().sum()
w = loss
"""


def test_questions_about_a_tensor_have_all_answers() -> None:
    trace = traced(PROGRAM)
    w = next(event.tensor for event in trace if isinstance(event, ev.NameBound) and event.name == "w")
    row = next(event.tensor for event in trace if isinstance(event, ev.ViewMade) and event.base == w)
    told = answers_about(trace, w, line(trace, 6))
    texts = {question: [answer.text for answer in each.answers] for question, each in told.items()}
    assert texts == {
        "Who made it?": ["made by ones"],
        "Who changed it?": ["changed in place by add_.Tensor, version 0 → 1"],
        "Who saved it for backward?": ["saved by MulBackward0 as other (version 0)"],
        "Who uses it?": ["self of view", "other of mul.Tensor", "self of add_.Tensor"],
        "Who shares its memory?": ["row began to share its memory"],
        "Where does it end?": ["last used as self of add_.Tensor", "w no longer names it"],
    }
    of_row = answers_about(trace, row, line(trace, 6))
    (view,) = [answer for answer in of_row["Who made it?"].answers if "view of" in answer.text]
    assert view.thing == TensorThing(w)
    (change,) = of_row["Who changed it?"].answers
    assert change.text == "w, which shares its memory, changed in place by add_.Tensor, version 0 → 1"
    assert change.seq == step(trace, ev.VersionBumped)


def test_calls_are_read_in_slices() -> None:
    trace = traced(PROGRAM)
    whole, parts = Uses(trace).finish(), Uses(trace)
    assert not parts.complete
    w = next(event.tensor for event in trace if isinstance(event, ev.NameBound) and event.name == "w")
    used = tensor_questions(trace, w, 0, parts)[3]
    assert (used.answers, used.none) == ((), "looking through the calls: 0 %")
    while not parts.complete:
        parts.go_on(1)
    assert parts.percent == 100
    assert [parts.calls(tensor) for tensor in tensors(trace)] == [whole.calls(tensor) for tensor in tensors(trace)]


def test_answers_nearest_to_the_step_are_listed() -> None:
    steps = list(range(0, 1000, 10))
    assert nearest(steps, 500) == list(range(470, 550, 10))
    assert nearest(steps, -1) == steps[:MOST]
    assert nearest(steps, 5000) == steps[-MOST:]
    assert nearest(steps[:3], 15) == steps[:3]


def test_a_tensor_of_inference_mode_has_no_version() -> None:
    trace = traced("import torch\nwith torch.inference_mode():\n    t = torch.ones(2)\n    t.add_(1)\n")
    tensor = next(event.tensor for event in trace if isinstance(event, ev.NameBound) and event.name == "t")
    assert answers_about(trace, tensor, 0)["Who changed it?"].none == (
        "it has no version counter, so in-place writes are not counted"
    )
