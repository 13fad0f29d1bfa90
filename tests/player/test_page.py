"""The page in a real browser: what is seen, typed and asked for. Without a Chromium these are skipped."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import backward_graph
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.explain.predictions.trace_predictions import predictions_after
from dispatchviz.explain.sentences.step_sentences import why_here
from dispatchviz.player.player_page import player_page
from dispatchviz.program import run
from dispatchviz.render.graph.dot import node_texts
from dispatchviz.tui.cursor.cursor import Cursor
from tests.player.browser import CHROMIUM, Page, browser
from tests.steps import last_step, step

pytestmark = [pytest.mark.long, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]

EXAMPLES = Path(__file__).parents[2] / "examples"

LOOP = """\
import torch
def f(t):
    u = t * 2
    return u + 1
x = torch.ones(2, requires_grad=True)
for i in range(3):
    y = f(x)
    y = f(y)
y.sum().backward()
"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Page]:
    with browser() as page:
        yield page


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def forum() -> Trace:
    return run(str(EXAMPLES / "forum.py")).trace


@pytest.fixture(scope="module")
def loop(folder: Path) -> Trace:
    (folder / "loop.py").write_text(LOOP)
    return run(str(folder / "loop.py")).trace


@pytest.fixture
def page(chromium: Page) -> Iterator[Page]:
    chromium.size(1280, 900)
    chromium.scheme("light")
    chromium.complaints.clear()
    chromium.requests.clear()
    yield chromium
    chromium.evaluate("0")  # what the browser has told meanwhile is read
    assert not chromium.complaints
    assert not chromium.requests


def opened(page: Page, folder: Path, trace: Trace, name: str, behind: str = "") -> Page:
    path = folder / f"{name}.html"
    if not path.exists():
        path.write_bytes(player_page(trace))
    page.open(f"{path.as_uri()}{behind}")
    return page


def at(page: Page) -> int:
    return int(page.evaluate("S.at"))


def go(page: Page, to: int) -> None:
    page.evaluate(f"act(() => goTo({to}))")


# -- stepping ----------------------------------------------------------------------------------------------------------


def test_the_keyboard_walks_through_all_steps_and_back(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    page.keys("g", *"+++")
    assert page.text("#position") == f"0/{last_step(forum)}"
    for number in range(1, len(forum)):
        page.keys("s")
        if number % 9 == 0:
            assert page.text("#sentence") == why_here(forum, number)
    assert page.text("#position") == f"{last_step(forum)}/{last_step(forum)}"
    page.keys(*"SSS")
    assert at(page) == last_step(forum) - 3
    page.keys("G", "s")
    assert at(page) == last_step(forum)


MOVES = ("into", "into_back", "over", "over_back", "out", "out_back", "resume", "resume_back", "unfold", "fold")
JUMPS = ("first", "last", "caller", "callee", "undo", "redo")


@pytest.mark.parametrize("level", range(4))
@pytest.mark.parametrize("name", ["forum", "loop"])
def test_moves_lead_where_the_steppers_do(
    page: Page, folder: Path, forum: Trace, loop: Trace, name: str, level: int
) -> None:
    trace = {"forum": forum, "loop": loop}[name]
    opened(page, folder, trace, name)
    page.evaluate(f"S.level = {level}; S.at = 0; S.opened.clear()")
    chance = random.Random(level)
    outline = Outline(trace, level)
    cursor = Cursor(trace, 0, outline=outline, shown=outline.steps)
    for _ in range(150):
        how = chance.choice((*MOVES, *MOVES, *JUMPS))
        if chance.random() < 0.1:
            to = chance.randrange(len(trace))
            cursor = cursor.goto(to)
            page.evaluate(f"goTo({to})")
        if how == "unfold" and cursor.at not in outline.steps:
            continue  # there the stepper lists what is in the step twice
        cursor = getattr(cursor, how)()
        page.evaluate(f"{'MOVES' if how in MOVES else 'JUMPS'}.{how}()")
        assert at(page) == cursor.at, how
        rows = page.evaluate("rows().map(({step, depth, unfolded}) => [step, depth, unfolded])")
        found = [cursor.row_at(number) for number in range(len(cursor.rows))]
        assert [row[:2] for row in rows] == [[cursor.rows[n], each.depth] for n, each in enumerate(found)], how
        assert [row[2] for row in rows] == [each.unfolded for each in found]


@pytest.mark.parametrize(
    "text", ["import torch\n", "import torch\nprint(torch.ones(2) + 1)\n", "raise ValueError('a')\n"]
)
def test_programs_that_do_little(page: Page, folder: Path, text: str) -> None:
    script = folder / f"little{len(text)}.py"
    script.write_text(text)
    trace = run(str(script)).trace
    opened(page, folder, trace, script.stem)
    page.keys("G", "s", "S", "ArrowRight", "ArrowLeft", "n", "r", "c", "u", "d", "p", "6", "9", "z", "]", "n", "g")
    assert at(page) == 0


def test_a_link_opens_at_its_step_and_follows_the_reader(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum", "#step=37")
    assert at(page) == 37
    page.keys("s")
    assert page.evaluate("new Promise((done) => setTimeout(() => done(location.hash), 500))") == f"#step={at(page)}"
    page.evaluate("location.hash = '#step=12'; new Promise((done) => setTimeout(done, 100))")
    assert at(page) == 12


def test_search_goes_from_hit_to_hit(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    page.keys("g", "/")
    page.write("redispatch add")
    page.keys("Enter")
    hits = page.evaluate("[...S.hits]")
    assert hits
    assert at(page) == hits[0]
    page.keys(".")
    assert at(page) == hits[1 % len(hits)]
    page.keys(",")
    assert at(page) == hits[0]
    page.keys(":")
    page.write("50%")
    page.keys("Enter")
    assert at(page) == (last_step(forum) + 1) // 2
    page.keys("Backspace")
    assert at(page) == hits[0]


def test_every_key_of_the_table_does_something(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    missing = page.evaluate(
        "D.keys.filter(({action}) => !actionOf(action) && action !== 'print').map((key) => key.action)"
    )
    assert missing == []
    page.keys("?")
    assert all(page.evaluate("D.keys.map(({help}) => element('dialog').textContent.includes(help))"))
    page.keys("Escape")
    assert not page.evaluate("element('dialog').open")


def test_marks_are_stops_and_in_the_link(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum", "#step=20")
    page.keys("m")
    page.write("a <b>, 5%")
    page.keys("Enter")
    assert "●" in page.text("#rows")
    link = page.evaluate("new Promise((done) => setTimeout(() => done(location.href), 500))")
    page.open(link)
    assert page.evaluate("[...S.marks]") == [[20, "a <b>, 5%"]]
    page.keys("g", *"+++", "'")
    assert "a <b>, 5%" in page.text("#dialog")
    page.keys("ArrowDown", "Enter")
    assert at(page) == 20
    page.keys("S", "c")
    assert at(page) == 20
    page.keys("m")
    assert page.evaluate("S.marks.size") == 0


def test_breakpoints_are_stops_instead_of_lines(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    page.keys("g", "b")
    page.write("line 6")
    page.keys("Enter", "c")
    line_6 = next(e.seq for e in forum.events if isinstance(e, ev.SourceLine) and e.line == 6)
    assert at(page) == line_6
    page.keys("B")
    assert page.text("#dialog").endswith("line 6  1 stop: 0 behind, 0 ahead")
    page.keys("Escape", "b", "Enter")
    assert "No breakpoints" in page.text("#note")


@pytest.mark.parametrize("level", [1, 3])
def test_moves_through_a_filter_lead_where_the_steppers_do(page: Page, folder: Path, forum: Trace, level: int) -> None:
    opened(page, folder, forum, "forum")
    page.evaluate(f"S.level = {level}; S.at = 0")
    page.keys("f")
    page.write("redispatch")
    page.keys("Enter")
    kept = page.evaluate("[...S.filter]")
    outline = Outline(forum, level)
    cursor = Cursor(forum, 0, outline=outline, shown=outline.steps).filtered(kept, "redispatch")
    chance = random.Random(level)
    assert at(page) == cursor.at
    for _ in range(100):
        how = chance.choice(MOVES)
        cursor = getattr(cursor, how)()
        page.evaluate(f"MOVES.{how}()")
        assert at(page) == cursor.at, how
        assert page.evaluate("rows().map(({step}) => step)") == list(cursor.rows), how
        assert page.evaluate("rows().map(({depth}) => depth)") == [forum.depths[step] for step in cursor.rows]
    page.keys("f")
    page.evaluate("document.querySelector('#dialog input').value = ''")
    page.keys("Enter")
    assert page.evaluate("S.filter") is None


def test_the_places_that_the_reader_has_been_to(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum", "#step=20")
    for place in (40, 60):
        go(page, place)
    page.keys("h", "ArrowDown", "Enter")
    assert at(page) == 20
    assert page.evaluate("S.undone.length") == 2
    page.keys("e", "e")
    assert at(page) == 60


def test_more_of_the_stack_and_of_the_engine(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    go(page, step(forum, ev.NodeStarted))
    page.keys("4", "9")
    short = page.evaluate("[4, 9].map((pane) => rowsAt(pane, S.at).length)")
    page.keys("A", "A", "E")
    more = page.evaluate("[4, 9].map((pane) => rowsAt(pane, S.at).length)")
    assert more[0] > short[0]
    assert more[1] > short[1]
    assert "whole stack" in page.text("#pane4")
    page.keys("A", "E")
    assert page.evaluate("[4, 9].map((pane) => rowsAt(pane, S.at).length)") == short


def test_what_is_asked_of_a_step_leads_on(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    go(page, step(forum, ev.NodeStarted))
    before = at(page)
    page.keys("x")
    assert at(page) < before
    page.keys("x", "i")
    assert "Who made it?" in page.text("#dialog")
    page.evaluate("document.querySelector('#dialog [data-goto]').click()")
    assert not page.evaluate("element('dialog').open")
    page.keys("Y")
    assert page.text("#dialog h2") == "Then and now"
    page.evaluate("document.querySelectorAll('#dialog [aria-pressed]')[1].click()")
    assert page.text("#dialog h2") == "Why it is so"
    page.keys("Escape", "t")
    assert "No error here" in page.text("#note")


def test_it_plays_until_a_key(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    page.keys("g", " ")
    assert "playing ×1" in page.text("#where")
    page.keys("+")
    assert "playing ×2" in page.text("#where")
    before = at(page)
    page.evaluate("clearTimeout(P.timer); playStep()")
    assert at(page) > before
    page.keys(" ")
    assert "playing" not in page.text("#where")
    assert page.evaluate("P.timer") == 0


# -- panes -------------------------------------------------------------------------------------------------------------


def test_the_sub_steps_of_a_key_set(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    call = step(forum, ev.Dispatched)
    go(page, call)
    page.keys("2", "s")
    assert page.text("#pane2").startswith("2 Key set - stage 1/")
    first = page.text("#sentence")
    page.keys("s")
    assert page.text("#sentence") != first
    page.keys("S", "S")
    assert page.text("#sentence") == why_here(forum, call)


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


MODULES = """\
import torch
net = torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(9)))
net(torch.ones(1, 2)).sum().backward()
"""


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


def test_questions_come_before_answers(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    asked = next(predictions_after(forum, 0, outer=True))
    page.keys("g", "p", "G")
    assert at(page) == asked.asked
    assert page.text("#asked") == asked.question
    assert [each.text for each in asked.choices] == page.evaluate(
        "[...document.querySelectorAll('#question .choice')].map((each) => each.textContent.slice(2))"
    )
    assert "?" in page.text("#rows")
    assert asked.right.text not in page.text("#rows")
    page.keys(str(asked.choices.index(asked.right) + 1))
    assert at(page) == asked.reveals
    assert "Right" in page.text("#note")
    page.keys("Enter")
    assert at(page) == asked.reveals
    assert "Right" in page.text("#note")
    assert page.text("#where").endswith("predict: 1 of 1 right")
    page.keys("G", "c")
    assert page.text("#where").endswith("predict: 1 of 1 right, 1 skipped")
    assert not page.evaluate("A.open")


# -- whatever is written -----------------------------------------------------------------------------------------------

TEXTS = (
    "{}|<>\"\\'&amp;",
    "</script><script>window.broken = 1</script>",
    "<!-- <img src=x onerror=window.broken=1> -->",
    "<b>bold</b> ${broken} {{script}}",
    "مرحبا بالعالم",
    "👩‍💻🔥",
    "a\u2028b\u2029c",
)


@pytest.mark.parametrize("text", TEXTS)
def test_texts_come_out_as_themselves_and_nothing_executes(page: Page, folder: Path, forum: Trace, text: str) -> None:
    header = forum.header
    sources = {each: source.replace('"cuda"', f'"cuda"  # {text}') for each, source in header.sources.items()}
    changed = msgspec.structs.replace(
        header, program=f"{text}.py", sources={f"{text}.py": next(iter(sources.values()))}
    )
    names = [
        msgspec.structs.replace(event, name=text) if isinstance(event, ev.NameBound) and event.name == "x" else event
        for event in forum.events
    ]
    lined = [msgspec.structs.replace(e, file=f"{text}.py") if isinstance(e, ev.SourceLine) else e for e in names]
    trace = Trace(changed, lined)
    path = folder / f"hostile{TEXTS.index(text)}.html"
    path.write_bytes(player_page(trace))
    page.open(path.as_uri())
    assert page.text("#program") == f"{text}.py"
    assert page.evaluate("document.title").startswith(text.replace("</script>", "</script>")) or "/" in text
    page.evaluate("S.own = [5, 6, 8]")
    for number in range(0, len(trace), 20):
        go(page, number)
    shown = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    assert text in page.text("#panes") or shown in page.text("#panes")
    assert page.evaluate("typeof window.broken") == "undefined"
    assert page.evaluate("document.querySelectorAll('img, b:not(#program), #page script').length") == 0


# -- sizes, colours, paper ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [375, 700, 1024, 1600])
def test_nothing_is_wider_than_the_window(page: Page, folder: Path, forum: Trace, width: int) -> None:
    page.size(width, 740, touch=width < 500)
    opened(page, folder, forum, "forum")
    for number in range(0, len(forum), 25):
        go(page, number)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, number


def test_a_finger_steps(page: Page, folder: Path, forum: Trace) -> None:
    page.size(375, 740, touch=True)
    opened(page, folder, forum, "forum", "#step=20")
    page.swipe((300, 60), (100, 62))
    after = at(page)
    assert after > 20
    page.swipe((100, 60), (300, 62))
    assert at(page) < after
    page.size(1280, 900)


def test_dark_and_light(page: Page, folder: Path, forum: Trace) -> None:
    def back() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    opened(page, folder, forum, "forum")
    light = back()
    page.scheme("dark")
    dark = back()
    assert light != dark
    page.keys("D")
    assert back() == light
    page.keys("D")
    assert back() == dark


def test_the_presenter(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum", "?present")
    assert page.evaluate("document.body.classList.contains('presenting')")
    assert page.evaluate("document.querySelectorAll('#panes > .pane').length") == 1
    before = at(page)
    page.keys("PageDown")
    assert at(page) > before
    page.keys("PageUp")
    assert at(page) == before
    page.keys("Escape")
    assert not page.evaluate("document.body.classList.contains('presenting')")


def test_it_is_printed(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    page.evaluate("addEventListener('afterprint', () => {}); beforePrint()")
    assert page.evaluate("element('paper').childElementCount") == page.evaluate("rows().length")
    assert page.paper().startswith(b"%PDF")
    page.scheme("dark", "print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)", "paper is white"


def test_what_cuda_is_stands_on_every_screen(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    for size in ((375, 740), (1280, 900)):
        page.size(*size)
        for number in (0, len(forum) // 2, last_step(forum)):
            go(page, number)
            assert forum.header.cuda in page.text("#engine")
            assert page.evaluate("element('engine').getBoundingClientRect().width") > 50


def test_without_what_it_needs_the_page_says_so(folder: Path, forum: Trace) -> None:
    text = player_page(forum).decode()
    assert "It needs JavaScript" in text.partition("<script")[0]


def test_a_screen_reader_is_told_the_tree_and_the_sentence(page: Page, folder: Path, loop: Trace) -> None:
    opened(page, folder, loop, "loop")
    page.keys("g", "ArrowDown", "ArrowRight")
    here: list[str] = page.evaluate(
        "(() => { const row = element(element('list').getAttribute('aria-activedescendant'));"
        "return [row.getAttribute('role'), row.getAttribute('aria-selected'), row.dataset.step] })()"
    )
    assert here == ["treeitem", "true", str(at(page))]
    assert page.evaluate("element('sentence').getAttribute('aria-live')") == "polite"
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button')].filter((each) => !each.textContent.trim() && !each.ariaLabel).length"
    )
    assert unnamed == 0
