"""The facts of a lesson, looked up in its own program and in a learner's: answers of questions, stops, the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.trace_predictions import prediction_at
from dispatchviz.foundation.shipped_examples import script_of
from dispatchviz.lessons.asked.evaluation import Result, values
from dispatchviz.lessons.asked.line_visits import Place, place_of
from dispatchviz.lessons.lesson_file import Lesson
from dispatchviz.lessons.passages import Passage
from dispatchviz.lessons.stop_steps import UnknownStopError
from dispatchviz.lessons.stops import step_named
from dispatchviz.running.engines import MODEL


class Found(Struct, frozen=True):
    """The state of one program at a stop."""

    text: str
    """The answer, ``it happens``, or the reason why there is none."""
    step: int | None = None
    """The step; None if it does not happen."""
    has_answer: bool = True
    """False if the program has no value for the lesson's own question."""


class Fact(Struct, frozen=True):
    """A fact of a lesson, in its own program and in the learner's."""

    about: str
    """The question, or the name of the stop."""
    stop: str
    """The name of the stop; empty for the end of the program."""
    lesson: Found
    mine: Found
    asks: bool = False
    """True if the lesson asks for it. Then a learner must not see the answer here."""

    @property
    def holds(self) -> bool:
        """True if both programs have the same."""
        return self.lesson.text == self.mine.text

    @property
    def change(self) -> str:
        """The change in the learner's program, without an answer to a question of the lesson."""
        if self.asks and self.mine.step is not None and self.mine.has_answer:
            return "your program has another answer than the lesson"
        now = f"in your program: {self.mine.text}"
        return now if self.asks or self.stop else f"in the lesson: {self.lesson.text}; {now}"


HAPPENS = "it happens"


def facts(lesson: Lesson, trace: Trace, mine: Lesson, mine_trace: Trace) -> list[Fact]:
    """Return the facts of a lesson, in the order of its file; last, the end of the program."""
    theirs, ours = _found(mine, mine_trace), _found(lesson, trace)
    found = [
        Fact(_about(passage, trace), passage.stop, one, other, passage.asks)
        for passage, one, other in zip(lesson.stops, ours, theirs, strict=True)
    ]
    return [*found, Fact("How does the program end?", "", _end(trace), _end(mine_trace))]


def _about(passage: Passage, trace: Trace) -> str:
    if passage.question is not None:
        return passage.question.text
    asked = prediction_at(trace, step_named(trace, passage.stop)) if passage.asks else None
    return passage.stop if asked is None else asked.question


def _found(lesson: Lesson, trace: Trace) -> list[Found]:
    """Return what a program has at each stop of the lesson."""
    steps = [_step(trace, passage) for passage in lesson.stops]
    places = [
        place_of(trace, step, lesson.program) if isinstance(step, int) and passage.question else None
        for passage, step in zip(lesson.stops, steps, strict=True)
    ]
    results = iter(_results(lesson, trace, places))
    return [
        _at(trace, passage, step, next(results) if place is not None else None)
        for passage, step, place in zip(lesson.stops, steps, places, strict=True)
    ]


def _step(trace: Trace, passage: Passage) -> int | str:
    """Return the step of a stop, or the reason why there is none."""
    try:
        return step_named(trace, passage.stop)
    except UnknownStopError as error:
        return str(error).removeprefix(f"{passage.stop!r} ")


def _results(lesson: Lesson, trace: Trace, places: Sequence[Place | None]) -> list[Result]:
    wanted = [
        (passage.question.answer, place)
        for passage, place in zip(lesson.stops, places, strict=True)
        if passage.question is not None and place is not None
    ]
    return values(script_of(lesson.path), lesson.program, trace, wanted, MODEL)


def _at(trace: Trace, passage: Passage, step: int | str, result: Result | None) -> Found:
    if isinstance(step, str):
        return Found(step)
    if passage.question is not None and not isinstance(result, str):
        why = "no line of the program has the step" if result is None else result.why
        return Found(f"no answer, because {why}", step, has_answer=False)
    if result is not None:
        return Found(str(result), step)
    asked = prediction_at(trace, step) if passage.asks else None
    return Found(HAPPENS if asked is None else asked.right.text, step)


def _end(trace: Trace) -> Found:
    last = trace[len(trace) - 1] if len(trace) else None
    return Found(f"with {last.exception}" if isinstance(last, ev.ProgramRaised) else "without an error")


def changed(found: Sequence[Fact]) -> Iterator[Fact]:
    """Yield the facts that do not hold."""
    return (fact for fact in found if not fact.holds)
