"""A lesson in the stepper: from one of its places to the next, and what it says there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatchviz.views.keymap import key_of
from dispatchviz.views.lesson_rows import BACK
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import Line, line

if TYPE_CHECKING:
    from dispatchviz.lessons.guide import Guide  # not for the first paint


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
