"""The backward graph in the page, in a real browser: it looks as at the step, it folds and unfolds."""

from __future__ import annotations

from pathlib import Path

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import backward_graph
from dispatchviz.program import run
from dispatchviz.render.graph.dot import node_texts
from tests.player.browser import Page
from tests.player.opened import IN_BROWSER, go, opened
from tests.steps import step

pytestmark = IN_BROWSER


MODULES = """\
import torch
net = torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(9)))
net(torch.ones(1, 2)).sum().backward()
"""


BOXES = """[...document.querySelectorAll('.picture g.node')].filter(({id}) => /^n\\d+$/.test(id)).map((box) =>
    [box.id, box.dataset.state, ...[...box.querySelectorAll('text')].map((text) => text.textContent)])"""


def test_the_graph_in_step(page: Page, folder: Path, forum: Trace) -> None:
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


def test_a_node_has_the_colours_of_its_state(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    page.evaluate("S.own = [6]")
    go(page, step(forum, ev.NodeStarted))
    fills = page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('.picture g.node[data-state]')].map((box) =>"
        "[box.dataset.state, getComputedStyle(box.querySelector('polygon, path')).fill]))"
    )
    assert {"running", "waiting"} <= fills.keys()
    assert len(set(fills.values())) == len(fills)


def test_repeats_are_folded_and_modules_framed_as_the_reader_wants(page: Page, folder: Path) -> None:
    (folder / "modules.py").write_text(MODULES)
    opened(page, folder, run(str(folder / "modules.py")).trace, "modules")
    page.keys("G", "6")
    seen = {}
    for key in ("0", "Enter", "*", "Enter", "*"):
        page.keys(key)
        frames = page.evaluate("[...document.querySelectorAll('.picture g.cluster')].length")
        seen[page.evaluate("layoutName()")] = (
            page.evaluate("document.querySelectorAll('.picture g.node').length"),
            frames,
        )
    assert seen.keys() == {"", "folded", "folded modules", "modules"}
    assert seen["folded"][0] == seen["folded modules"][0] < seen[""][0] == seen["modules"][0]
    assert seen[""][1] == 0
    assert seen["modules"][1] >= 5
    assert seen["folded modules"][1] >= seen["folded"][1] > 0  # a module that is a turn has the frame of the repeat


def test_a_folded_box_unfolds(page: Page, folder: Path) -> None:
    trace = run(str(EXAMPLES / "transformer_block.py")).trace
    opened(page, folder, trace, "transformer")
    page.evaluate("S.own = [6]; act(() => goTo(D.places['backward Node'][9]))")
    page.evaluate("act(() => graph('fold'))")
    assert page.evaluate("layoutOf(D.graph.scenes[sceneNumber()]).name") == "folded"
    folded = page.evaluate("document.querySelectorAll('.picture g.node').length")
    page.evaluate(
        "document.querySelector('.picture g.node.folded').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert page.evaluate("document.querySelectorAll('.picture g.node').length") > folded
    running = page.evaluate("[...document.querySelectorAll('.picture g.node')].map((each) => each.dataset.state)")
    assert "running" in running
