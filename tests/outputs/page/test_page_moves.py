"""The moves in the page, in a real browser: they lead to the same steps as in the stepper."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.running.program import run
from dispatchviz.views.cursor.cursor import Cursor
from tests.outputs.page.browser import Page
from tests.outputs.page.opened import IN_BROWSER, at, opened
from tests.steps import last_step

pytestmark = IN_BROWSER


MOVES = ("into", "into_back", "over", "over_back", "out", "out_back", "resume", "resume_back", "unfold", "fold")


JUMPS = ("first", "last", "caller", "callee", "undo", "redo")


def test_the_keyboard_walks_through_all_steps_and_back(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    page.keys("g", *"+++")
    assert page.text("#position") == f"step 0 of {len(forum)}"
    for number in range(1, len(forum)):
        page.keys("s")
        if number % 9 == 0:
            assert page.text("#sentence") == why_here(forum, number)
    assert page.text("#position") == f"step {last_step(forum)} of {len(forum)} (last)"
    page.keys(*"SSS")
    assert at(page) == last_step(forum) - 3
    page.keys("G", "s")
    assert at(page) == last_step(forum)


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
        here, rows = page.evaluate(
            f"{'MOVES' if how in MOVES else 'JUMPS'}.{how}();"
            "[S.at, rows().map(({step, depth, unfolded}) => [step, depth, unfolded])]"
        )
        assert here == cursor.at, how
        found = [cursor.row_at(number) for number in range(len(cursor.rows))]
        assert [row[:2] for row in rows] == [[cursor.rows[n], each.depth] for n, each in enumerate(found)], how
        assert [row[2] for row in rows] == [each.unfolded for each in found]


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
        here, rows = page.evaluate(f"MOVES.{how}(); [S.at, rows().map(({{step, depth}}) => [step, depth])]")
        assert here == cursor.at, how
        assert rows == [[step, forum.depths[step]] for step in cursor.rows], how
    page.keys("f")
    page.evaluate("document.querySelector('#dialog input').value = ''")
    page.keys("Enter")
    assert page.evaluate("S.filter") is None


@pytest.mark.parametrize(
    "text", ["import torch\n", "import torch\nprint(torch.ones(2).add(1).shape)\n", "raise ValueError('a')\n"]
)
def test_tiny_programs_can_be_stepped_through(page: Page, folder: Path, text: str) -> None:
    script = folder / f"little{len(text)}.py"
    script.write_text(text)
    trace = run(str(script)).trace
    opened(page, folder, trace, script.stem)
    page.keys("G", "s", "S", "ArrowRight", "ArrowLeft", "n", "r", "c", "u", "d", "p", "6", "9", "z", "]", "n", "g")
    assert at(page) == 0


def test_it_plays_until_a_key(page: Page, folder: Path, forum: Trace) -> None:
    opened(page, folder, forum, "forum")
    page.keys("g", " ")
    assert "playing ×1" in page.text("#where")
    page.keys("+")
    assert "playing ×2" in page.text("#where")
    before = at(page)
    page.evaluate("clearTimeout(P.timer); playRow()")
    assert at(page) > before
    page.keys(" ")
    assert "playing" not in page.text("#where")
    assert page.evaluate("P.timer") == 0
