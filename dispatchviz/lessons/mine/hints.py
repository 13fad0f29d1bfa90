"""Three hints for a learner, from a nudge to the answer: the author's own ones first, then ones from the comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dispatchviz.lessons.lesson_file import Lesson
from dispatchviz.lessons.mine.facts import Fact, changed
from dispatchviz.lessons.mine.goals import Reached
from dispatchviz.lessons.passages import MOST_HINTS


def hints(lesson: Lesson, found: Sequence[Fact], goals: Sequence[Reached], opened: str) -> tuple[str, ...]:
    """Return three hints; none if all goals hold, or without goals all facts. ``opened`` is the command that opens the
    learner's program at a step, with STEP for the number.
    """
    missed = next((goal for goal in goals if not goal.holds), None)
    other = next(changed(found), None)
    if missed is not None:
        made = list(_to_goal(missed, other, opened))
    elif not goals and other is not None:
        made = list(_about_change(other, opened))
    else:
        return ()
    own = lesson.hints
    return (*own, *made[len(own) :])[:MOST_HINTS]


def _to_goal(missed: Reached, other: Fact | None, opened: str) -> Iterator[str]:
    about = [text for text, _ in missed.parts] or [missed.goal.text]
    yield f"One goal is missing. It is about {' and '.join(about)}. Which line of your program decides that?"
    yield "\n".join((f"At the end of the program, this must be true: {missed.goal.text}", *missed.why))
    if other is None:
        yield "Your program still does everything that the lesson's program does. Change the line that you found."
    else:
        yield f"Your program differs from the lesson's here: {_difference(other)}{_look(other, opened)}"


def _about_change(other: Fact, opened: str) -> Iterator[str]:
    where = f"the stop {other.stop}" if other.stop else "the end of the program"
    yield f"Your change has an effect. The first one is at {where}. What would you expect there?"
    yield _difference(other)
    yield _look(other, opened).strip() or "Compare the lines of both programs: which one makes this step in the lesson?"


def _difference(fact: Fact) -> str:
    about = fact.about if fact.about.endswith("?") else f"{fact.about}."
    return f"{about} {fact.change[0].upper()}{fact.change[1:]}."


def _look(fact: Fact, opened: str) -> str:
    return "" if fact.mine.step is None else f"\nLook at this step: {opened.replace('STEP', str(fact.mine.step))}"
