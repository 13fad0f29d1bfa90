"""Three hints for a learner, from a nudge to the answer: the author's own ones first, then ones from the comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dispatchviz.lessons.lesson_file import Lesson
from dispatchviz.lessons.mine.facts import Fact, changed
from dispatchviz.lessons.mine.goals import Reached, by_phase, is_done
from dispatchviz.lessons.passages import MOST_HINTS


def hints(lesson: Lesson, found: Sequence[Fact], goals: Sequence[Reached], opened: str) -> tuple[str, ...]:
    """Return three hints; none if all goals of the last phase hold, or without goals all facts. ``opened`` is the
    command that opens the learner's program at a step, with STEP for the number.
    """
    missed = _missed(goals)
    other = next(changed(found), None)
    if missed is not None:
        made = list(_to_goal(missed, other, opened))
        own = tuple(hint for each in lesson.passages if each.phase == missed.goal.phase for hint in each.hints)
    elif not goals and other is not None:
        made, own = list(_about_change(other, opened)), lesson.hints
    else:
        return ()
    return (*own, *made[len(own) :])[:MOST_HINTS]


def _missed(goals: Sequence[Reached]) -> Reached | None:
    """Return the first missed goal of the phase that the learner works on: the one with the largest part of its goals
    reached, among those with a missed goal. Return None if all goals of the last phase are reached.
    """
    groups = list(by_phase(goals).values())
    if not groups or is_done(groups[-1]):
        return None
    group = max((each for each in groups if not is_done(each)), key=_part)
    return next(goal for goal in group if not goal.holds)


def _part(group: Sequence[Reached]) -> float:
    return sum(goal.holds for goal in group) / len(group)


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
