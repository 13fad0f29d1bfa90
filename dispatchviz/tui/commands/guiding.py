"""A lesson in the stepper: from one of its places to the next, and what it says there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dispatchviz.tui.cursor.cursor import Cursor
from dispatchviz.tui.keymap import key_of
from dispatchviz.tui.layout.lesson_text import Said
from dispatchviz.tui.session import Session, Update
from dispatchviz.tui.text.styled_line import Line, Span, line

if TYPE_CHECKING:
    from dispatchviz.lessons.guide import Guide  # not for the first paint

NEXT, BACK = "move('resume')", "move('resume_back')"

_CODE = re.compile(r"(`[^`]+`)")


def along(session: Session, guide: Guide, forward: bool) -> Update:
    """To the next place of the lesson, or back to the one before; a question there is asked first."""
    from dispatchviz.tui.commands.predicting import question_on_the_way

    before, place = session.cursor, guide.moved(forward)
    if place is None:
        return Update(before.goto(guide.place.step), _end(session, guide) if forward else None)
    after = before.goto(place.step)
    return question_on_the_way(session, before, after) or Update(after)


def _end(session: Session, guide: Guide) -> Line:
    """What is said behind the last place."""
    score = session.asking.score(session.trace)
    answers = f" Your answers: {score}." if score else ""
    after = f" Next: dispatchviz lesson {guide.after}." if guide.after else ""
    back = key_of(BACK).first
    return line((f" That was the lesson.{answers}", "good"), after, (f"  {back} goes back through it", "dim"))


def page_end(guide: Guide, score: str) -> str:
    """The same for who reads the lesson as a page, and may have neither the next one nor a terminal."""
    back = f"{key_of(BACK).first} goes back through it; every step is open: {key_of(INTO).first} takes the next one."
    if not guide.after:
        return f" That was the lesson.{score} {back}"
    after = (
        f"The next one is {guide.after}: ask whoever gave you this page, or make it with dispatchviz, in a terminal:"
    )
    return f" That was the lesson.{score} {back} {after} dispatchviz lesson {guide.after} -o {guide.after}.html"


INTO = "move('into')"


def said(session: Session, cursor: Cursor) -> Said:
    """What the lesson says where the reader is; while the reader looks elsewhere how to come back."""
    guide = session.guide
    if guide is None:
        return Said()
    if cursor.at != guide.place.step:
        return Said((line((f" {key_of(NEXT).first}", "keycap"), (" goes on with the lesson", "dim")),))
    return Said(tuple(_said(guide)), alone=guide.is_aside)


def _said(guide: Guide) -> Iterator[Line]:
    passage = guide.place.passage
    head = " · ".join(filter(None, (passage.phase, f"{guide.at + 1} of {len(guide.places)}")))
    more = (f"  {key_of(NEXT).first} goes on", "dim") if guide.at + 1 < len(guide.places) else ("", "")
    title = f"{guide.lesson.title}  " if guide.at == 0 else ""
    yield line((f" {title}", "bold"), (head, "hint"), more)
    for paragraph in passage.text.split("\n\n"):
        yield from _paragraph(paragraph)


def _paragraph(text: str) -> Iterator[Line]:
    """Its lines as one, unless they are a list or code."""
    lines = text.split("\n")
    if any(each.startswith(("- ", "    ", "* ")) for each in lines):
        yield from (line(" ", *_spans(each), indent=3) for each in lines)
    elif text:
        yield line(" ", *_spans(" ".join(lines)), indent=1)


def _spans(text: str) -> Iterator[Span]:
    """Code in a colour of its own, without its backticks."""
    for part in _CODE.split(text):
        yield (part[1:-1], "keycap") if part.startswith("`") and len(part) > 1 else (part, "")
