"""The backward graph in the page, in a real browser: its look follows the step, and it folds and unfolds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import BackwardGraph, backward_graph
from dispatchviz.explain.graph.graph_node import State
from dispatchviz.explain.graph.node_groups import groups
from dispatchviz.outputs.picture.dot import node_texts
from tests.explain.programs import traced
from tests.module_blocks import BLOCKS, ON_ONE_LINE, PROGRAM
from tests.outputs.page.browser import Page
from tests.outputs.page.opened import IN_BROWSER, go, opened
from tests.steps import step

pytestmark = IN_BROWSER


BOXES = """[...document.querySelectorAll('.picture g.node')].filter(({id}) => /^n\\d+$/.test(id)).map((box) =>
    [box.id, box.dataset.state, ...[...box.querySelectorAll('text')].map((text) => text.textContent)])"""


def test_graph_follows_the_step(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    page.keys("6")
    scene = range(step(forum, ev.NodeCreated), len(forum))
    for number in scene:
        go(page, number)
        graph = backward_graph(forum, number)
        for name, state, *texts in page.evaluate(BOXES):
            node = graph.nodes.get(int(name[1:]))
            assert state == ("unmade" if node is None else node.state.name.lower())
            if node is not None:
                title, said, facts = node_texts(graph, node)
                assert texts[:2] == [title, said]
                assert [text for text in texts[2:] if text][: len(facts)] == facts
    before = page.evaluate("G.view.width")
    page.keys("+")
    assert page.evaluate("G.view.width") < before
    page.keys("ArrowLeft")
    assert not page.evaluate("G.view.fitted")
    page.keys("0")
    assert page.evaluate("G.view.fitted")


def test_a_node_has_the_colors_of_its_state(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    page.evaluate("S.own = [6]")
    go(page, step(forum, ev.NodeStarted))
    fills = page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('.picture g.node[data-state]')].map((box) =>"
        "[box.dataset.state, getComputedStyle(box.querySelector('polygon, path')).fill]))"
    )
    assert {"running", "waiting"} <= fills.keys()
    assert len(set(fills.values())) == len(fills)


@pytest.fixture(scope="module")
def modules() -> Trace:
    return traced(PROGRAM)


NODES = "document.querySelectorAll('.picture g.node').length"
FRAMES = "document.querySelectorAll('.picture g.cluster').length"
TITLES = "[...document.querySelectorAll('.picture text')].map((text) => text.textContent)"


def test_repeats_are_folded_and_modules_framed_or_boxes_as_the_reader_wants(
    page: Page, folder: Path, modules: Trace
) -> None:
    opened(page, folder, modules, "modules")
    page.keys("G", "6")
    seen = {}
    for key in ("0", "Enter", "*", "*", "Enter", "*", "*"):
        page.keys(key)
        seen[page.evaluate("layoutName()")] = page.evaluate(NODES), page.evaluate(FRAMES)
    assert list(seen) == ["", "folded", "folded modules", "folded boxes", "boxes", "modules"]
    assert page.evaluate("layoutName()") == "modules"
    assert seen["folded"][0] == seen["folded modules"][0] < seen[""][0] == seen["modules"][0]
    assert seen[""][1] == 0
    assert seen["modules"][1] == BLOCKS * 3
    assert (
        seen["folded modules"][1] >= seen["folded"][1] > 0
    )  # a module that is an iteration has the frame of the repeat
    assert seen["boxes"] == (BLOCKS, 0)
    assert seen["folded boxes"][0] < seen["folded modules"][0]


def test_modules_that_one_line_calls_have_frames_and_boxes_of_their_own(page: Page, folder: Path) -> None:
    opened(page, folder, traced(ON_ONE_LINE.replace(f"range({BLOCKS})", "range(2)")), "one-line")
    page.keys("G", "6", "z")
    seen = {}
    for _ in range(6):
        seen[page.evaluate("layoutName()")] = page.evaluate(TITLES)
        page.keys("*")
    blocks = {"model.0", "model.1"}
    assert blocks < set(seen["modules"])
    assert {text.partition(":")[0] for text in seen["boxes"]} >= blocks


def test_a_folded_box_unfolds(page: Page, folder: Path, modules: Trace) -> None:
    opened(page, folder, modules, "modules")
    page.evaluate("S.own = [6]; act(() => goTo(D.places['backward Node'][9]))")
    page.evaluate("act(() => graph('fold'))")
    assert page.evaluate("layoutOf(D.graph.scenes[sceneNumber()]).name") == "folded"
    folded = page.evaluate(NODES)
    click(page, ".node.folded")
    assert page.evaluate(NODES) > folded
    running = page.evaluate("[...document.querySelectorAll('.picture g.node')].map((each) => each.dataset.state)")
    assert "running" in running


def click(page: Page, selector: str, text: str = "") -> None:
    """Click on the first matching part of the picture with a text."""
    page.evaluate(
        f"[...document.querySelectorAll('.picture {selector}')].find((each) => each.textContent.includes('{text}'))"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )


def test_a_module_is_a_box_that_a_click_unfolds_and_its_frame_folds(page: Page, folder: Path, modules: Trace) -> None:
    opened(page, folder, modules, "modules")
    page.keys("G", "6", "*", "*")
    click(page, ".node.folded", "net[1]:")
    assert page.evaluate("layoutName()") == "boxes net[1]"
    assert titles(page) >= {"net[1].up", "net[1].down", "net[0]"}
    click(page, ".node.folded", "net[3]:")
    assert titles(page) >= {"net[3].up", "net[1]"}
    click(page, ".node.folded", "net[3].up:")
    assert page.evaluate("layoutName()") == "boxes net[3].up"
    assert titles(page) >= {"net[3].down", "net[1]"}
    assert "net[3].up" not in titles(page)
    click(page, ".cluster.module text", "net[3].up")
    assert page.evaluate("layoutName()") == "boxes net[3]"
    click(page, ".cluster.module text", "net[3]")
    assert page.evaluate("layoutName()") == "boxes"
    page.keys("*", "*")
    click(page, ".cluster.module text", "net[2].up")
    assert titles(page) >= {"net[2].up", "net[2].down", "net[0]"}


def titles(page: Page) -> set[str]:
    """Return the titles of boxes that are modules."""
    return {texts[0].partition(":")[0] for _, _, *texts in page.evaluate(BOXES) if ":" in texts[0]}


def test_box_of_a_module_counts_its_nodes_and_their_states(page: Page, folder: Path, modules: Trace) -> None:
    opened(page, folder, modules, "modules")
    page.keys("G", "6", "*", "*")
    last = backward_graph(modules)
    inside = {name: members(last, name) for name in (f"net[{block}]" for block in range(BLOCKS))}
    for number in (modules.steps_of(ev.NodeStarted)[2], modules.steps_of(ev.NodeStarted)[7], len(modules) - 1):
        go(page, number)
        graph = backward_graph(modules, number)
        for _, _, title, state, edges, *_ in page.evaluate(BOXES):
            name, _, size = title.partition(": ")
            states = Counter(graph[node].state for node in inside[name])
            assert size.startswith(f"{len(inside[name])} Nodes")
            assert state in progress(states)
            coming, leaving = crossing(last, inside[name])
            assert edges == f"edges: {coming} in, {leaving} out"


def members(graph: BackwardGraph, module: str) -> set[int]:
    """Return the Nodes of a module."""
    paths = groups(graph, "module")
    return {number for number in graph.nodes if any(group.title == module for group in paths[number])}


def crossing(graph: BackwardGraph, inside: set[int]) -> tuple[int, int]:
    """Return the numbers of edges that lead into some Nodes and out of them."""
    edges = [(node.number, edge.target) for node in graph for edge in node.edges if edge.target is not None]
    return (
        sum(tail not in inside and head in inside for tail, head in edges),
        sum(tail in inside and head not in inside for tail, head in edges),
    )


def progress(states: Counter[State]) -> set[str]:
    """Return the texts that a box may show for the states of several Nodes."""
    done = states[State.DONE] + states[State.RELEASED]
    total = states.total()
    if done == total:
        return {"done, freed" if states[State.RELEASED] == total else "done"}
    found = {**states, State.DONE: done}
    return {state.value if count == total else f"{count}/{total} {state.value}" for state, count in found.items()}
