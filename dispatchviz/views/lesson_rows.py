"""The passage of a lesson as rows, for the stepper, the page, and the bar above the panes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.keymap import key_of
from dispatchviz.views.session import Session
from dispatchviz.views.text.prose import prose_spans
from dispatchviz.views.text.styled_line import Line, line

if TYPE_CHECKING:
    from dispatchviz.lessons.guide import Guide

NEXT, BACK = "move('resume')", "move('resume_back')"


def said(session: Session, cursor: Cursor) -> Said:
    """The lesson's text at the current place. If the reader is elsewhere, it names the key that returns."""
    guide = session.guide
    if guide is None:
        return Said()
    if cursor.at != guide.place.step:
        return Said((line((f" {key_of(NEXT).first}", "keycap"), (" continues the lesson", "dim")),))
    return Said(tuple(_passage(guide)), alone=guide.is_aside)


def _passage(guide: Guide) -> Iterator[Line]:
    passage = guide.place.passage
    head = " · ".join(filter(None, (passage.phase, f"{guide.at + 1} of {len(guide.places)}")))
    more = (f"  {key_of(NEXT).first} continues", "dim") if guide.at + 1 < len(guide.places) else ("", "")
    title = list(prose_spans(f"{guide.lesson.title}  ", "bold")) if guide.at == 0 else []
    yield line(" ", *title, (head, "hint"), more)
    for paragraph in passage.text.split("\n\n"):
        yield from _paragraph(paragraph)
    if passage.phase == "Make" or passage.goals:
        yield line((" Check yours: ", "dim"), (f"dispatchviz lesson {guide.word} --mine mine.py", ""), indent=1)


def _paragraph(text: str) -> Iterator[Line]:
    """Join the lines of a paragraph unless they are a list or code."""
    lines = text.split("\n")
    if _is_list_or_code(lines):
        yield from (line(" ", *prose_spans(each), indent=3) for each in lines)
    elif text:
        yield line(" ", *prose_spans(" ".join(lines)), indent=1)


def _is_list_or_code(lines: Sequence[str]) -> bool:
    """Return whether a line begins an item of a list, or code. A line within backticks begins neither."""
    begins = (at for at, each in enumerate(lines) if each.startswith(("- ", "    ", "* ")))
    return any("".join(lines[:at]).count("`") % 2 == 0 for at in begins)


class Said(NamedTuple):
    """The rows of a lesson's text; none without a lesson."""

    rows: tuple[Line, ...] = ()
    alone: bool = False
    """True if the text is not about a step, so that neither the sentence of the step nor its rule is shown below it."""
