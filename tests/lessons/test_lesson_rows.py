"""A lesson's text in the bar above the panes: its title, paragraphs, lists and code."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.lessons.catalog import lesson_named
from dispatchviz.views.lesson_rows import said
from dispatchviz.views.session import Session
from tests.lessons.own_lesson import PROGRAM, guide, written
from tests.tui.screens import stepper_of


def rows(of: Session) -> list[str]:
    return [row.plain.strip() for row in said(of, of.cursor).rows]


def opened(folder: Path, prose: str) -> Session:
    of = guide(written(folder, prose, PROGRAM))
    while of.place.passage.phase != "Run":
        of.moved(True)
    return Session(of.trace, of.place.step, guide=of)


async def test_work_of_the_learner_stands_alone(tmp_path: Path) -> None:
    of = opened(tmp_path, "# ## Run\n#\n# stop: call mm\n# Here.\n#\n# ## Make\n#\n# Write it.\n")
    async with stepper_of(of) as reader:
        await reader.press("c", "C")
        rule = "at::_ops::mm::call"
        assert rule in "".join(above(reader.screen))
        await reader.press("c")
        assert "".join(above(reader.screen)).rstrip().endswith(CHECKS), "no rule follows"


CHECKS = "Check yours: dispatchviz lesson own.py --mine mine.py"


def above(screen: list[str]) -> list[str]:
    """The rows above the steps."""
    return screen[: next(at for at, row in enumerate(screen) if " Steps " in row)]


def test_title_has_no_backticks() -> None:
    lesson = lesson_named("sum_node", None)
    of = guide(lesson)
    assert "`" in lesson.title
    assert rows(Session(of.trace, 0, guide=of))[0].startswith("Does autograd skip sum?  1 of ")


@pytest.mark.parametrize(
    ("prose", "shown"),
    [
        (["The product `x", "* w` is", "new."], ["The product x * w is new."]),
        (["The sum `x", "    + w` is new."], ["The sum x     + w is new."]),
        (["Two kinds:", "- `x`", "- `w`"], ["Two kinds:", "- x", "- w"]),
        (["In code:", "    y = x"], ["In code:", "y = x"]),
    ],
)
def test_only_lists_and_code_keep_their_lines(prose: list[str], shown: list[str], tmp_path: Path) -> None:
    lines = "".join(f"# {each}\n" for each in prose)
    assert rows(opened(tmp_path, f"# ## Run\n#\n# stop: call mm\n{lines}"))[1:] == shown
