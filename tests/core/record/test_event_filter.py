"""A filtered recording is a trace like any other, and has all events that the conditions select."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatchviz.core.record.event_filter import ALWAYS, EventFilter, Only, only_from, read_only
from dispatchviz.core.record.events import AnyEvent, Dispatched, ModuleCalled, NameBound, NodeStarted, SourceLine
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.running.recording import record

SUM, ADD = "aten::sum", "aten::add.Tensor"


def _events() -> Sequence[AnyEvent]:
    import dispatchviz.torch as torch

    with record() as trace:
        x = torch.ones(3, requires_grad=True)
        y = _twice(torch, x)
        y.sum().backward()
    return trace.events


def _twice(torch: object, x: object) -> object:
    return x + x  # type: ignore[operator]


EVENTS = _events()


def _kept(*conditions: str) -> list[AnyEvent]:
    return list(EventFilter(read_only(conditions)).keep(EVENTS))


def _check_whole(events: Sequence[AnyEvent]) -> None:
    assert [event.seq for event in events] == list(range(len(events)))
    assert all(event.parent is None or event.parent < event.seq for event in events)
    for event in events:
        if isinstance(event, SourceLine) and event.caller is not None:
            assert isinstance(events[event.caller], SourceLine)


def _operators(events: Sequence[AnyEvent]) -> set[str]:
    return {event.operator for event in events if isinstance(event, Dispatched)}


@pytest.mark.parametrize("name", ["sum", "aten::sum", "s*m", "aten::su?"])
def test_operator_is_kept_with_events_within_and_around(name: str) -> None:
    kept = _kept(f"op={name}")
    _check_whole(kept)
    assert SUM in _operators(kept)
    assert ADD not in _operators(kept)
    (call,) = [e for e in kept if isinstance(e, Dispatched) and e.operator == SUM and e.how == "call"]
    around = kept[call.parent or 0]
    assert "sum" in repr(around)
    assert len([e for e in kept if e.parent == call.seq]) == len([e for e in EVENTS if _is_within(e, SUM)])


def _is_within(event: AnyEvent, operator: str) -> bool:
    around = None if event.parent is None else EVENTS[event.parent]
    return isinstance(around, Dispatched) and (around.operator, around.how) == (operator, "call")


def test_calls_of_a_line_are_kept_with_the_line() -> None:
    line = next(e for e in EVENTS if isinstance(e, SourceLine) and e.caller is not None)
    caller = EVENTS[line.caller or 0]
    assert isinstance(caller, SourceLine)
    kept = _kept(f"line=test_event_filter:{caller.line}")
    _check_whole(kept)
    assert ADD in _operators(kept)
    assert SUM not in _operators(kept)
    assert {e.line for e in kept if isinstance(e, SourceLine)} == {caller.line, line.line}


def test_all_kinds_of_conditions_must_hold() -> None:
    assert _operators(_kept("module=test_event_filter", "op=add")) == {ADD}
    assert not _operators(_kept("module=elsewhere", "op=add"))
    assert _operators(_kept("op=add,op=sum")) >= {ADD, SUM}


def _calls(events: Sequence[AnyEvent]) -> list[str]:
    """The operators of the calls that are within no other call."""
    inner = {event.seq for event in events if isinstance(event, Dispatched)}
    for event in events:
        inner |= {event.seq} if event.parent in inner else set()
    return [e.operator for e in events if isinstance(e, Dispatched) and e.parent not in inner]


def test_calls_are_counted_without_those_within_them() -> None:
    outermost = _calls(EVENTS)
    assert _calls(_kept("call=2-3")) == outermost[1:3]
    assert _calls(_kept("call=2,call=4")) == [outermost[1], outermost[3]]


def test_calls_of_an_operator_are_counted_separately() -> None:
    names = [f"aten::{name}" for name in ("ones", "ones_like")]
    kept = _kept("op=ones*", "call=2")
    assert names[1] in _operators(kept)
    assert names[0] not in _operators(kept)


def _module_events() -> Sequence[AnyEvent]:
    import dispatchviz.torch as torch

    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    with record() as trace:
        net(torch.ones(1, 2)).sum().backward()
    return trace.events


@pytest.mark.parametrize("name", ["net.0", "0", "Linear"])
def test_module_is_selected_with_the_backward_of_its_nodes(name: str) -> None:
    kept = list(EventFilter(read_only([f"module={name}"])).keep(_module_events()))
    _check_whole(kept)
    assert [event.kind for event in kept if isinstance(event, ModuleCalled)] == ["Sequential", "Linear"]
    started = [event.name for event in kept if isinstance(event, NodeStarted)]
    assert started[0] == "AddmmBackward0"
    assert "ReluBackward0" not in started
    assert "aten::relu" not in _operators(kept)


@pytest.mark.parametrize(
    ("condition", "remark"),
    [
        ("module=layers.7", "no module layers.7: the program called net, net.0, net.1"),
        ("op=cosh", "no call of cosh: the program called aten::ones, "),
        ("call=900", "no call 900: the program made "),
        ("step=90000", "no step=90000: there are "),
        ("line=4321", "nothing happened on line=4321"),
    ],
)
def test_condition_that_selects_nothing_is_remarked(condition: str, remark: str) -> None:
    only = read_only([condition])
    chosen = EventFilter(only)
    list(chosen.keep(_module_events()))
    (found,) = chosen.seen.remarks(only)
    assert found.startswith(remark)


def test_condition_that_selects_something_is_not_remarked() -> None:
    only = read_only(["module=Linear,call=1-100,line=1-9999"])
    chosen = EventFilter(only)
    list(chosen.keep(_module_events()))
    assert not list(chosen.seen.remarks(only))


def test_marks_of_iterations_select_the_events_between() -> None:
    marks = [(3, True), (6, False), (9, True), (10, False)]
    chosen = EventFilter(read_only(["iteration=2-3"]), marks)
    kept = [event for event in chosen.keep(EVENTS) if not isinstance(event, (*ALWAYS, SourceLine))]
    inside = [EVENTS[seq] for seq in (3, 4, 5, 9) if not isinstance(EVENTS[seq], (*ALWAYS, SourceLine))]
    assert all(any(_same(one, event) for one in kept) for event in inside)


def test_block_of_code_has_no_iterations() -> None:
    with pytest.raises(DispatchvizError, match="inside the loop"), record(only={"iteration": 3}):
        pass


def test_events_that_others_refer_to_are_always_kept() -> None:
    kept = _kept("op=no_such_operator")
    _check_whole(kept)
    assert len(kept) == sum(isinstance(event, ALWAYS) for event in EVENTS)
    assert any(isinstance(event, NameBound) for event in kept)


@given(st.lists(st.tuples(st.integers(0, len(EVENTS)), st.integers(0, 40)), min_size=1, max_size=4))
def test_any_ranges_of_steps_are_kept(ranges: list[tuple[int, int]]) -> None:
    steps = tuple((first, first + more) for first, more in ranges)
    kept = list(EventFilter(Only(step=steps)).keep(EVENTS))
    _check_whole(kept)
    chosen = [event for event in EVENTS if any(a <= event.seq <= b for a, b in steps)]
    assert len(kept) >= len(chosen)
    assert [type(event) for event in chosen] == [type(event) for event in _without_others(kept, chosen)]


def _without_others(kept: list[AnyEvent], chosen: list[AnyEvent]) -> list[AnyEvent]:
    """The chosen events among the kept ones, found in order."""
    rest = iter(kept)
    return [next(one for one in rest if _same(one, event)) for event in chosen]


def _same(one: AnyEvent, other: AnyEvent) -> bool:
    def facts(event: AnyEvent) -> list[object]:
        places = {"seq", "parent", "caller"}
        return [getattr(event, name) for name in event.__struct_fields__ if name not in places]

    return type(one) is type(other) and facts(one) == facts(other)


def test_a_filter_may_be_given_events_in_parts() -> None:
    whole = _kept("op=sum,line=1-9999")
    parts = EventFilter(read_only(["op=sum,line=1-9999"]))
    assert [kept for event in EVENTS for kept in parts.keep([event])] == whole


def test_recording_keeps_the_selected_events() -> None:
    import dispatchviz.torch as torch

    with record(only={"op": ["sum"]}) as trace:
        (torch.ones(2) + 1).sum()
    assert SUM in _operators(trace.events)
    assert ADD not in _operators(trace.events)
    _check_whole(trace.events)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("op", "--only op is not a condition"),
        ("", "--only with nothing is not a condition"),
        ("op=", "is not a condition"),
        ("kernel=x", "--only kernel=x is not a condition"),
        ("line=x", "x is neither a number nor a range such as 3-7"),
        ("line=a.py:", "nothing is neither a number"),
        ("step=7-3", "--only step=7-3: the range ends before it begins"),
        ("step=-3", "-3 is neither a number"),
        ("iteration=x:3", "x is not the line of a loop"),
        ("call=x", "x is neither a number"),
        ("op=add,,line=3", "--only with nothing is not a condition"),
    ],
)
def test_meaningless_condition_is_refused(text: str, message: str) -> None:
    with pytest.raises(DispatchvizError) as error:
        read_only([text])
    assert message in str(error.value)


def test_conditions_may_be_given_in_python() -> None:
    assert only_from({"op": "add", "line": [3, "7-9"]}) == read_only(["op=add", "line=3,line=7-9"])


@pytest.mark.parametrize(
    "texts",
    [
        ["op=add,line=net.py:3-7,line=4"],
        ["module=Net", "step=3-9,step=12"],
        ["op=*_backward"],
        ["iteration=3-5,iteration=12:7", "call=17"],
    ],
)
def test_conditions_survive_writing_and_reading(texts: list[str]) -> None:
    only = read_only(texts)
    assert read_only(only.texts) == only
    assert sorted(only.texts) == sorted(",".join(texts).split(","))
