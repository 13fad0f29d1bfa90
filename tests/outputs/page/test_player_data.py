"""The data of a page."""

from __future__ import annotations

import io
import json
from bisect import bisect_right
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import backward_graph
from dispatchviz.explain.outline.levels import DEFAULT
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.explain.things.crossing import crossing
from dispatchviz.explain.things.step_things import things_of
from dispatchviz.explain.trace_index.tensor_numbers import end_of_numbers
from dispatchviz.outputs.page.graph_data import graph_data
from dispatchviz.outputs.page.graph_scenes import scenes
from dispatchviz.outputs.page.interned_lines import Lines
from dispatchviz.outputs.page.kept_steps import MOST, kept_steps
from dispatchviz.outputs.page.moments import NO_NODE, NO_TENSOR, WAY, Kinds, moment
from dispatchviz.outputs.page.pane_tracks import COSTLY, OTHERS, WIDTH, pane_tracks, panes_of
from dispatchviz.outputs.page.places_data import places_data
from dispatchviz.outputs.page.player_data import player_data
from dispatchviz.outputs.page.step_texts import step_texts
from dispatchviz.outputs.picture.dot import node_texts
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.cursor.targets import TARGETS
from dispatchviz.views.details.then_and_now_rows import block_rows, blocks_at
from dispatchviz.views.details.traceback_rows import traceback_at, traceback_rows
from dispatchviz.views.panes import engine_pane
from dispatchviz.views.panes.empty_titles import nothing
from dispatchviz.views.panes.pane_list import ENGINE, PANES, TENSORS, rows_of
from dispatchviz.views.screen_bars import place, why_lines
from dispatchviz.views.text.marked_terms import with_terms
from dispatchviz.views.text.styled_line import Line, line
from tests.outputs.page.decoded import Decoded, Row, ordered, sums, texts, whole
from tests.steps import last_step
from tests.tui.programs import example

EXAMPLES = Path(__file__).parents[3] / "examples"

FORUM = str(EXAMPLES / "forum.py")

PROGRAMS = ("forum.py", "inplace_error.py", "custom_operator.py", "hooks.py")


@cache
def decoded(name: str) -> Decoded:
    return Decoded(player_data(example(name)))


def as_row(row: Line) -> Row:
    return row.spans, row.key, row.value, row.goto, row.indent


def _first_rows(trace: Trace, at: int, width: int) -> list[Line]:
    """Return the first rows of the engine pane, which shows less until the reader asks for all."""
    return engine_pane.rows_as(trace, at, whole=False)


@pytest.mark.long
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("pane", PANES)
def test_every_pane_at_every_step_is_the_steppers(name: str, pane: int) -> None:
    trace, page = example(name), decoded(name)
    kept = next((each for each in page.data["panes"] if each["number"] == pane), None)
    if kept is None:
        assert pane not in panes_of(trace)
        return
    rows = _first_rows if pane == ENGINE else rows_of(PANES[pane][1])
    for at in range(len(trace)):
        said = nothing(pane, trace, at)
        if said is not None:
            assert page.rows(kept["empty"], at) == [as_row(said)]
        else:
            assert page.rows(kept["empty"], at) == []
            assert page.rows(kept["rows"], at) == [as_row(row) for row in rows(trace, at, WIDTH)], at


def test_the_numbers_of_tensors_are_those_of_the_stepper() -> None:
    text = "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\ny.mul_(3)\ny.sum().backward()\n"
    trace = run(Code(text), output=io.StringIO(), values=16, most_values=8).trace
    page, rows = Decoded(player_data(trace)), rows_of(PANES[TENSORS][1])
    kept = next(each for each in page.data["panes"] if each["number"] == TENSORS)
    shown = [page.rows(kept["rows"], at) for at in range(len(trace)) if nothing(TENSORS, trace, at) is None]
    at_each = [at for at in range(len(trace)) if nothing(TENSORS, trace, at) is None]
    assert shown == [[as_row(row) for row in rows(trace, at, WIDTH)] for at in at_each]
    assert end_of_numbers(trace) is not None


@pytest.mark.parametrize("pane", OTHERS)
def test_other_contents_of_a_pane_are_the_steppers(pane: int) -> None:
    trace, page = example("hooks.py"), decoded("hooks.py")
    kept = next(each for each in page.data["panes"] if each["number"] == pane)
    assert len(kept["others"]) == len(OTHERS[pane])
    for other, (title, made) in zip(kept["others"], OTHERS[pane], strict=True):
        assert other["title"] == title
        for at in range(len(trace)):
            said = nothing(pane, trace, at)
            expected = [] if said is not None else [as_row(row) for row in made(trace, at)[1]()]
            assert page.rows(other["rows"], at) == expected, at


def test_answers_about_a_step_are_the_steppers() -> None:
    trace, page = example("inplace_error.py"), decoded("inplace_error.py")
    texts = page.data["texts"]
    for at in range(len(trace)):
        found, crossed = crossing(trace, at), page.rows(texts["cross"]["rows"], at)
        assert crossed is not None
        assert [(row[0][0][0], row[3]) for row in crossed] == [(f" {found.text}", found.seq)]
        error = page.rows(texts["traceback"]["rows"], at)
        assert error == [as_row(row) for row in traceback_rows(traceback_at(trace, at))]
        things = page.rows(texts["app.ask_thing"]["rows"], at)
        assert things is not None
        assert bool(things) == bool(things_of(trace, at))
    assert any(page.rows(texts["app.ask_thing"]["rows"], at) for at in range(len(trace)))


def test_own_operator_has_its_history_and_others_have_the_command() -> None:
    trace, page = example("custom_operator.py"), decoded("custom_operator.py")
    track = page.data["texts"]["registration"]["rows"]
    shown = [" ".join(text for row in page.rows(track, at) or () for text, _ in row[0]) for at in range(len(trace))]
    assert any("library.define" in text for text in shown)
    assert any("dispatchviz table aten::" in text for text in shown)


def test_unregistered_operator_suggests_no_command() -> None:
    """The operator is from a library whose registrations are not in the trace, and ``table`` does not know it
    either.
    """
    trace = example("forum.py")
    renamed = [
        msgspec.structs.replace(event, operator="other::op") if isinstance(event, ev.Dispatched) else event
        for event in trace.events
    ]
    data = step_texts(Trace(trace.header, renamed), lines := Lines(), range(len(trace)))
    page = Decoded(json.loads(msgspec.json.encode({**data, "lines": lines.data()})))
    track, at = page.data["registration"]["rows"], trace.steps_of(ev.Dispatched)[0]
    shown = [text for row in page.rows(track, at) or () for text, _ in row[0]]
    assert shown == [
        "other::op is not an operator of PyTorch, and the trace has no registration of it up to this step."
    ]


def test_page_says_what_cuda_is_if_the_program_uses_it() -> None:
    page, other = decoded("forum.py"), decoded("inplace_error.py")
    assert example("forum.py").header.cuda in "".join(text for text, _ in page.row(page.data["engine"])[0])
    assert other.row(other.data["engine"])[0] == ()


def test_then_and_now_is_in_the_steppers_order() -> None:
    trace, page = example("forum.py"), decoded("forum.py")
    then, idents = page.data["then"], ["", *block_rows()]
    steps = Outline(trace, DEFAULT).steps
    for number, track in enumerate(then["lists"]):
        at_steps, shown, lists = ordered(track["steps"]), ordered(track["shown"]), whole(track["lists"])
        for at in steps:
            entries = [each for each in lists[shown[bisect_right(at_steps, at) - 1]] if each > 0]
            blocks = blocks_at(trace, at)[number]
            assert [idents[each] for each in entries] == [block.ident for block in blocks]


def test_the_sentence_the_rule_and_the_place_of_every_step() -> None:
    trace, page = example("forum.py"), decoded("forum.py")
    for at in range(len(trace)):
        assert page.rows(page.data["why"], at) == [as_row(with_terms(trace, row)) for row in why_lines(trace, at)]
        assert page.rows(page.data["where"], at) == [as_row(line(*place(trace, at)))]


def test_data_are_equal_for_equal_programs() -> None:
    assert player_data(run(FORUM).trace) == player_data(run(FORUM).trace)


@pytest.mark.parametrize("name", ["forum.py", "hooks.py"])
def test_two_keys_lead_where_they_lead_in_the_stepper(name: str) -> None:
    trace, page = example(name), decoded(name)
    for target, found in places_data(trace).items():
        there = ordered(found)
        for at in range(len(trace)):
            cursor = Cursor(trace, at, outline=Outline(trace, 0))
            assert next((step for step in there if step > at), None) == TARGETS[target](cursor, True)
    assert page.data["places"].keys() == TARGETS.keys()


# -- the backward graph ------------------------------------------------------------------------------------------------

TWO_PASSES = """\
import torch
w = torch.ones(3, requires_grad=True)
for iteration in range(2):
    loss = (w * w).sum()
    loss.backward()
    w.grad = None
left = w * 2
other = left + 1
other.sum().backward(retain_graph=True)
torch.autograd.grad(other.sum(), w)
never = w.exp()
"""


@pytest.fixture(scope="module")
def two_passes(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    script = tmp_path_factory.mktemp("programs") / "two_passes.py"
    script.write_text(TWO_PASSES)
    return run(str(script)).trace


def test_every_scene_shows_what_is_made_and_no_step_is_without_one(two_passes: Trace) -> None:
    found = scenes(two_passes)
    made = two_passes.steps_of(ev.NodeCreated)
    assert found[0].begin <= made[0]
    assert [scene.begin for scene in found] == sorted(scene.begin for scene in found)
    assert found[-1].end == last_step(two_passes)
    for at in range(found[0].begin, len(two_passes)):
        scene = next(scene for scene in found if scene.begin <= at <= scene.end)
        drawn = {*scene.graph_at(two_passes, scene.end).nodes}
        assert {*backward_graph(two_passes, at).nodes} <= drawn, at


@pytest.mark.parametrize("name", ["two passes", "forum.py", "inplace_error.py", "hooks.py"])
def test_every_node_looks_at_every_step_as_the_graph_says(name: str, two_passes: Trace) -> None:
    trace = two_passes if name == "two passes" else example(name)
    lines = Lines()
    data: Any = graph_data(trace, lines, range(len(trace)))
    written = texts(lines.data())
    compared = 0
    for scene, drawn in zip(scenes(trace), data["scenes"], strict=True):
        for at in range(scene.begin, scene.end + 1):
            graph = scene.graph_at(trace, at)
            for number, life in drawn["nodes"].items():
                past = [step for step in sums(life["steps"]) if step <= at]
                assert bool(past) == (number in graph.nodes), (number, at)
                if past:
                    title, state, facts = node_texts(graph, graph[number])
                    assert life["states"][len(past) - 1] == graph[number].state.name.lower(), (number, at)
                    assert [written[each] for each in life["texts"][len(past) - 1]] == [title, state, *facts]
                    compared += 1
    assert compared > len(trace) // 8


def test_a_program_without_a_graph_has_no_scene(tmp_path: Path) -> None:
    script = tmp_path / "none.py"
    script.write_text("import torch\n")
    data: Any = player_data(run(str(script)).trace)
    assert data["count"] == 1
    assert data["graph"]["scenes"] == []


# -- long programs -----------------------------------------------------------------------------------------------------


def test_a_short_program_is_kept_whole() -> None:
    assert kept_steps(example("forum.py")) == frozenset(range(len(example("forum.py"))))


LOOP = """\
import torch
x = torch.ones(2, requires_grad=True)
for i in range(9):
    x = x * 2
print(x)
"""


def test_long_loop_keeps_its_first_iteration_and_its_last(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "loop.py"
    script.write_text(LOOP)
    trace = run(str(script)).trace
    monkeypatch.setattr("dispatchviz.outputs.page.kept_steps.MOST", 400)
    assert len(trace) > 400
    kept = kept_steps(trace)
    iterations = [
        at for at in trace.steps_of(ev.SourceLine) if isinstance(line := trace[at], ev.SourceLine) and line.line == 4
    ]
    assert len(iterations) == 9
    assert [iteration in kept for iteration in iterations] == [True, *[False] * 7, True]
    assert 0 in kept
    assert last_step(trace) in kept
    tracks: list[Any] = pane_tracks(trace, Lines(), kept)
    for track in tracks:
        pane, rows = track["number"], track["rows"]
        says = any(nothing(pane, trace, at) is None for at in range(iterations[4], iterations[5]))
        assert (-1 in ordered(rows["shown"])) == (pane in COSTLY and says), PANES[pane]


def test_number_of_kept_steps_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dispatchviz.outputs.page.kept_steps.MOST", 100)
    trace = example("forum.py")
    kept = kept_steps(trace)
    assert len(kept) == 100
    assert {0, last_step(trace)} <= kept
    assert MOST > 1000


@pytest.mark.parametrize("kind", NO_NODE)
def test_events_that_change_no_node_name_none(kind: type[ev.Event]) -> None:
    assert not {"node", "nodes"} & {*kind.__struct_fields__}


@pytest.mark.parametrize("quiet", [WAY, NO_TENSOR, NO_NODE])
def test_step_with_news_is_a_range_of_its_own(quiet: Kinds) -> None:
    trace = run(FORUM).trace
    moments = [moment(trace, at, quiet) for at in range(len(trace))]
    assert moments == sorted(moments)
    assert len(set(moments)) < len(trace)
    for at, event in enumerate(trace.events):
        if not isinstance(event, quiet):
            assert moments.count(moments[at]) == 1, at


def test_range_begins_after_a_step_that_contains_others() -> None:
    trace = run(FORUM).trace
    ends = {trace.ends[step] for step in trace.steps_of(ev.NodeStarted)} - {len(trace) - 1}
    assert ends
    for end in ends:
        assert moment(trace, end, NO_NODE) < moment(trace, end + 1, NO_NODE)
