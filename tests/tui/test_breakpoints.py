"""Tests of breakpoints: the stops of each kind compared with the events, refused breakpoints, the list."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.display_names import plain_node
from dispatchviz.tui.commands.stopping import toggle
from dispatchviz.views.cursor.breakpoints.breakpoint import Breakpoint
from dispatchviz.views.cursor.breakpoints.conditions import OF_EVERY_STEP, clauses_of
from dispatchviz.views.cursor.breakpoints.hunt import Hunt
from dispatchviz.views.cursor.breakpoints.typed_breakpoints import breakpoint_named, refusal
from dispatchviz.views.cursor.breakpoints.typed_places import KINDS
from dispatchviz.views.cursor.cursor import Cursor
from tests.explain.programs import traced
from tests.steps import last_step, step, steps
from truth.programs import PROGRAMS

from .screens import stepper
from .synthetic import big, forum

END = last_step(forum())

LOOP = """
import torch
torch.manual_seed(0)
w = torch.randn(3, requires_grad=True)
def loss_of(x):
    y = x * w
    return y.sum()
for iteration in range(4):
    z = torch.ones(3)
    z.add_(iteration)
    loss = loss_of(z)
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
del z
"""

SAMPLE = [*PROGRAMS][::80]


@cache
def program(name: str) -> Trace:
    """The trace of a program for tests of breakpoints."""
    return traced(LOOP) if name == "loop" else traced(f"import torch\n{PROGRAMS[name]}")


def stops(text: str, trace: Trace) -> list[int]:
    """The steps at which a breakpoint stops; none if it is refused."""
    point = breakpoint_named(text, trace)
    return [] if point is None else list(point.steps(trace))


def among(trace: Trace, wanted: Callable[[ev.AnyEvent], bool]) -> list[int]:
    """The same steps, found by reading all events."""
    return [event.seq for event in trace if wanted(event)]


@pytest.mark.long
def test_every_kind_of_breakpoint_stops_at_matching_events() -> None:
    compared = 0
    for name in (*SAMPLE, "loop"):
        trace = program(name)
        for text, wanted in (*_simple(trace), *_lines(trace), *_functions(trace), *_variables(trace)):
            found = among(trace, wanted)
            assert stops(text, trace) == found != [], (name, text)
            compared += 1
    assert compared > 200


Wanted = list[tuple[str, Callable[[ev.AnyEvent], bool]]]


def _simple(trace: Trace) -> Wanted:
    kinds = {type(event) for event in trace}
    calls = {(event.operator, event.key) for event in trace if isinstance(event, ev.Dispatched)}
    full = {operator for operator, _ in calls if "." in operator}
    nodes = {plain_node(event.name) for event in trace if isinstance(event, ev.NodeCreated)}
    return [
        *((f"event {kind.__name__}", lambda e, k=kind: isinstance(e, k)) for kind in kinds),
        *((f"key {key}", lambda e, k=key: isinstance(e, ev.Dispatched) and e.key == k) for _, key in calls),
        *((each, lambda e, o=each: isinstance(e, ev.Dispatched) and e.operator == o) for each in full),
        *((f"operator {each.partition('.')[0]}", lambda e, o=each: _is_of(e, o)) for each, _ in calls),
        *((f"node {each}", lambda e, n=each: _is_node(e, n)) for each in nodes),
    ]


def _is_of(event: ev.AnyEvent, operator: str) -> bool:
    return isinstance(event, ev.Dispatched) and event.operator.partition(".")[0] == operator.partition(".")[0]


def _is_node(event: ev.AnyEvent, name: str) -> bool:
    return isinstance(event, ev.NodeCreated | ev.NodeStarted) and event.name.rpartition("::")[2] == name


def _lines(trace: Trace) -> Wanted:
    lines = {(event.file, event.line) for event in trace if isinstance(event, ev.SourceLine)}
    return [
        (f"{file}:{line}", lambda e, f=file, n=line: isinstance(e, ev.SourceLine) and (e.file, e.line) == (f, n)
         and not e.resumed)
        for file, line in lines
    ]  # fmt: skip


def _functions(trace: Trace) -> Wanted:
    names = {event.function for event in trace if isinstance(event, ev.BindingEntered)}
    return [
        (f"function {name}", lambda e, n=name: isinstance(e, ev.BindingEntered) and e.function == n) for name in names
    ]


def _variables(trace: Trace) -> Wanted:
    names = {event.name for event in trace if isinstance(event, ev.NameBound)}
    found: Wanted = []
    for name in names:
        held, at = None, set[int]()
        for event in trace:
            if isinstance(event, ev.NameBound) and event.name == name:
                held = event.tensor
                at.add(event.seq)
            elif isinstance(event, ev.NameUnbound) and event.name == name and event.tensor == held:
                held = None
            elif isinstance(event, ev.VersionBumped) and event.tensor == held:
                at.add(event.seq)
        found.append((f"variable {name}", lambda e, s=at: e.seq in s))
    return found


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Dispatched if operator == aten::add_.Tensor", lambda t, e: e.operator == "aten::add_.Tensor"),
        ("event Dispatched if how == redispatch and depth > 4",
         lambda t, e: e.how == "redispatch" and t.depths[e.seq] > 4),
        ("Dispatched if line == 7", lambda t, e: _line_of(t, e) == 7),
        ("Dispatched if key_set != 0x10002", lambda t, e: e.key_set != 0x10002),
        ("TensorCreated if shape == [3] and requires_grad == false", lambda t, e: e.shape == (3,)
         and not e.requires_grad),
        ("NodeStarted if name == AccumulateGrad", lambda t, e: False),
        ("NodeStarted if name == torch::autograd::AccumulateGrad",
         lambda t, e: e.name == "torch::autograd::AccumulateGrad"),
        ("SourceLine if function == loss_of and resumed == false",
         lambda t, e: e.function == "loss_of" and not e.resumed),
        ("SourceLine if caller == none", lambda t, e: e.caller is None),
        ("GuardEntered if step >= 100 and step < 300", lambda t, e: 100 <= e.seq < 300),
    ],
)  # fmt: skip
def test_conditions_compare_fields_of_events(text: str, wanted: Callable[[Trace, ev.AnyEvent], bool]) -> None:
    trace = program("loop")
    kind = text.removeprefix("event ").partition(" ")[0]
    found = among(trace, lambda event: type(event).__name__ == kind and wanted(trace, event))
    assert stops(text, trace) == found
    assert found or "AccumulateGrad" in text


def _line_of(trace: Trace, event: ev.AnyEvent) -> int | None:
    lines = (each.line for each in (event, *trace.ancestors(event.seq)) if isinstance(each, ev.SourceLine))
    return next(lines, None)


def test_condition_without_place_applies_to_any_step() -> None:
    trace = program("loop")
    deepest = max(trace.depths)
    assert stops(f"if depth == {deepest}", trace) == [at for at, depth in enumerate(trace.depths) if depth == deepest]
    adds = [at for at in stops("add_", trace) if trace[at].key == "CPU"]
    assert stops("add_ if key == CPU", trace) == adds != []
    assert stops("torch.ones if signatures_tried > 0", trace) == stops("torch.ones", trace) != []


def test_ignore_skips_the_first_stops() -> None:
    trace = program("loop")
    every = stops("line 9", trace)
    assert len(every) == 4
    assert stops("line 9 ignore 3", trace) == every[3:]
    assert stops("line 9 if step > 0 ignore 1", trace) == every[1:]
    point = breakpoint_named("line 9 ignore 1", trace)
    assert [point.next(trace, 0), point.next(trace, every[2], forward=False)] == [every[1], every[1]]
    assert refusal("line 9 ignore 4", trace) == "script.py:9 has 4 stops, so ignore 4 leaves none"


def test_names_and_places_are_read_as_breakpoints() -> None:
    trace = forum()
    for text, point in {
        "37": Breakpoint("step", "37"),
        "007": Breakpoint("step", "7"),
        "nodecreated": Breakpoint("event", "NodeCreated"),
        "AutogradCUDA": Breakpoint("key", "AutogradCUDA"),
        "DispatchKey.cuda": Breakpoint("key", "CUDA"),
        "add": Breakpoint("operator", "aten::add"),
        "Add.tensor": Breakpoint("operator", "aten::add.Tensor"),
        "line 6": Breakpoint("line", "forum.py:6"),
        "Line  6": Breakpoint("line", "forum.py:6"),
        "forum.py:6": Breakpoint("line", "forum.py:6"),
        "z": Breakpoint("variable", "z"),
        "variable z": Breakpoint("variable", "z"),
        "AddBackward0": Breakpoint("node", "AddBackward0"),
        "accumulategrad": Breakpoint("node", "AccumulateGrad"),
        "torch.add": Breakpoint("function", "torch.add"),
        "Tensor.sum": Breakpoint("function", "Tensor.sum"),
    }.items():
        assert breakpoint_named(text, trace) == point, text
        assert point.steps(trace), text
    assert breakpoint_named("9999", trace) is breakpoint_named("xlogy", trace) is breakpoint_named("", trace) is None


SYNTAX = "Write FIELD == VALUE, with == != < <= > >=, and join several with and"

UNKNOWN = "This trace has no step, event, key, operator, Node or variable"

REFUSED = [
    ("9999", f"There is no step 9999. The steps are 0 to {END}"),
    (f"{END + 1}", f"There is no step {END + 1}. The steps are 0 to {END}"),
    ("step x", "x is not a step number"),
    ("line 9", "Line 9 of forum.py did not run. Lines that ran: 3, 4, 5, 6 and 7"),
    ("line x", "x is not a line. Write line 6 or forum.py:6"),
    ("forum.py:1", "Line 1 of forum.py did not run. Lines that ran: 3, 4, 5, 6 and 7"),
    ("model.py:6", "No line of a file model.py ran. Files: forum.py"),
    ("variable w", "This trace has no variable w. Its variables: x, y, z"),
    ("node MulBackward0", "This trace has no Node MulBackward0. Near: SumBackward0, AddBackward0"),
    ("node Conv", "This trace has no Node Conv. Its Nodes: AddBackward0, AccumulateGrad, SumBackward0"),
    ("operator xlogy", "This trace has no call of an operator xlogy. Its operators: aten::add, aten::sum"),
    ("operator ad", "This trace has no call of an operator ad. Near: aten::add"),
    ("key XLA", "No call in this trace is dispatched to XLA. Its keys: AutogradCUDA, CUDA"),
    ("xla", "No call in this trace is dispatched to XLA. Its keys: AutogradCUDA, CUDA"),
    ("AutogradXLA", "No call in this trace is dispatched to AutogradXLA. Near: AutogradCUDA"),
    ("key Cud", "There is no key Cud. Near: CUDA, AutogradCUDA"),
    ("AutocastChanged", "This trace has no event of the kind AutocastChanged"),
    ("event Nodes", "There is no kind of event Nodes. Near: NodeStarted, NodeSkipped"),
    ("nodestarte", f"{UNKNOWN} nodestarte. Near: NodeStarted, NodeCreated"),
    ("ad.Tensor", f"{UNKNOWN} ad.Tensor. Near: aten::add.Tensor"),
    ("::s", f"{UNKNOWN} ::s. Near: aten::sum"),
    ("AddBackward", f"{UNKNOWN} AddBackward. Near: AddBackward0, SumBackward0, BackwardStarted"),
    ("Dispatched if opertor == x",
     "Dispatched has no field opertor. Its fields: how, operator, key_set, key; every step also has depth, line, step"),
    ("if opertor == x", "No event has the field opertor. Near: operator, generator"),
    ("add if", f"{UNKNOWN} add if. Near: aten::add"),
    ("add if depth", f"'depth' is not a condition. {SYNTAX}"),
    ("add if depth > 2 and so", f"'so' is not a condition. {SYNTAX}"),
    ("line 6 ignore 1", "forum.py:6 has 1 stop, so ignore 1 leaves none"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "why"), REFUSED)
def test_impossible_breakpoint_is_refused_with_suggestions(text: str, why: str) -> None:
    assert breakpoint_named(text, forum()) is None
    assert refusal(text, forum()) == why
    assert toggle(Cursor(forum()), text).note.plain == f" {why}"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("torch.ad", "The program calls no Python function torch.ad. Near: torch.add"),
        ("torch.linalg.inv", "The program calls no Python function torch.linalg.inv. Functions: torch.add, Tensor.sum"),
        ("add if depth > 90", "No stop at operator aten::add has depth > 90. Values of depth: 2, 5"),
        ("Dispatched if key == CPU", "No stop at event Dispatched has key == CPU. Values of key: AutogradCUDA, CUDA"),
        ("Dispatched if operator == aten::sum and how == cal",
         "No stop at event Dispatched with operator == aten::sum has how == cal. Values of how: call"),
        ("torch.add if operator == aten::sum",
         "No stop at function torch.add has operator == aten::sum. Values of operator: aten::add.Tensor"),
        ("if depth > 90", "No step has depth > 90. Values of depth: 0 to 8"),
    ],
)  # fmt: skip
def test_condition_that_never_holds_is_refused_with_actual_values(text: str, why: str) -> None:
    point = breakpoint_named(text, forum())
    assert point is not None
    hunt = Hunt(point, forum())
    while hunt.go_on():
        pass
    assert hunt.why_none() == why
    assert toggle(Cursor(forum()), text).note.plain == f" {why}"  # type: ignore[union-attr]


def test_every_accepted_breakpoint_has_a_stop() -> None:
    trace = forum()
    for name in (*KINDS, *(key.name for key in DispatchKey), "Add.Tensor", "aten::sum", "dispatchkey.cuda", "007"):
        found = breakpoint_named(name, trace)
        assert found is None or found.steps(trace), name


def test_growing_trace_accepts_unknown_names() -> None:
    trace = forum()
    cursor = Cursor(trace, is_growing=True)
    for text in ("line 60", "variable w", "node MulBackward0", "operator mul", "key XLA", "event AutocastChanged",
                 "torch.mul", "9999", "Dispatched if depth > 90", "line 6 ignore 5"):  # fmt: skip
        update = toggle(cursor, text)
        assert len(update.cursor.breakpoints) == 1, text
        assert "0 stops so far" in update.note.plain  # type: ignore[union-attr]
    assert toggle(cursor, "w").cursor.breakpoints == ()


def test_stops_that_need_events_are_found_in_slices() -> None:
    trace = big(20_000)
    update = toggle(Cursor(trace), "if how == redispatch and step > 15000")
    slices = 0
    while update.goes_on is not None:
        assert update.cursor.breakpoints == ()
        update, slices = update.goes_on(), slices + 1
    assert slices > 0
    found = [at for at in steps(trace, ev.Dispatched) if trace[at].how == "redispatch" and at > 15_000]
    assert list(update.cursor.breakpoints[0].steps(trace)) == found != []


def test_breakpoint_replaces_one_at_the_same_place() -> None:
    trace = program("loop")
    once = toggle(Cursor(trace), "line 9").cursor
    again = toggle(once, "line 9 ignore 2")
    assert [str(each) for each in again.cursor.breakpoints] == ["script.py:9 ignore 2"]
    gone = toggle(again.cursor, "line 9 ignore 2")
    assert gone.cursor.breakpoints == ()
    assert gone.note.plain == " Breakpoint removed: script.py:9 ignore 2"  # type: ignore[union-attr]


def test_clauses_are_parsed_and_never_evaluated() -> None:
    assert clauses_of("a == 1 and b!='x y'") == clauses_of(" a==1  and  b != 'x y' ")
    assert clauses_of("__import__('os') == 1") == "__import__('os') == 1"
    assert clauses_of("a = 1") == "a = 1"
    assert set(OF_EVERY_STEP).isdisjoint({"operator", "key"})


@pytest.mark.long
async def test_key_b_sets_and_removes_breakpoints() -> None:
    first = step(forum(), ev.NodeCreated)
    async with stepper(forum()) as reader:
        await reader.press("b")
        assert reader.sees("Stop at: line 6, z, AddBackward0, torch.add, CUDA [if depth > 2] [ignore 3]")
        await reader.press(*"NodeCreated", "enter")
        count = len(steps(forum(), ev.NodeCreated))
        assert reader.sees(f"Breakpoint at event NodeCreated: {count} stops, first at step {first}")
        assert reader.sees("c goes to the next one, B lists all")
        await reader.press("c")
        assert reader.at == first
        assert any("◉" in row for row in reader.screen)
        await reader.press("b", *"nothing", "enter")
        assert reader.sees(f"{UNKNOWN} nothing")
        await reader.press("b", *"NodeCreated", "enter")
        assert reader.sees("Breakpoint removed: event NodeCreated")
        await reader.press("b", *"add", "enter", "b", "enter")
        assert reader.app.session.cursor.breakpoints == ()


@pytest.mark.long
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_list_of_breakpoints_goes_to_stops_and_removes(size: tuple[int, int]) -> None:
    nodes, ran = steps(forum(), ev.NodeCreated), stops("AddBackward0", forum())
    async with stepper(forum(), size) as reader:
        await reader.press("B")
        assert reader.sees("No breakpoints yet: b sets one")
        await reader.press("b", *"NodeCreated", "enter", "b", *"AddBackward0", "enter", "g", "B")
        assert reader.sees("Breakpoints (Enter: next stop, d: remove, Esc: close)")
        assert reader.sees(f"▶ event NodeCreated  3 stops: 0 behind, 3 ahead (step {nodes[0]})")
        assert reader.sees(f"  node AddBackward0  2 stops: 0 behind, 2 ahead (step {ran[0]})")
        await reader.press("enter")
        assert reader.at == nodes[0]
        assert reader.sees("Stop 1 of 3 at event NodeCreated")
        await reader.press("B")
        assert reader.sees(f"3 stops: 0 behind, one here, 2 ahead (step {nodes[1]})")
        await reader.press("down", "enter", "B", "down", "enter")
        assert reader.at == ran[0]
        assert reader.sees("Stop 1 of 2 at node AddBackward0  wrapped around")
        await reader.press("B", "d")
        assert not reader.sees("event NodeCreated  3 stops")
        await reader.press("escape")
        assert [str(each) for each in reader.app.session.cursor.breakpoints] == ["node AddBackward0"]
        await reader.press("B", "delete")
        assert reader.sees("No breakpoints")
        assert reader.app.session.cursor.breakpoints == ()
