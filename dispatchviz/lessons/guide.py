"""A lesson with the trace of its program: the step of each passage, and the reader's place.

A passage without a stop of its own belongs to the step of the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.lessons.answers import KeptAnswers, LessonAnswers
from dispatchviz.lessons.lesson_file import Lesson, Passage
from dispatchviz.lessons.stops import step_named


@dataclass(frozen=True)
class Place:
    """A passage and its step."""

    passage: Passage
    step: int

    @property
    def asks(self) -> bool:
        """True if the reader predicts the step's outcome."""
        return self.passage.asks


class Guide:
    """The places of a lesson in the order of its file, and the reader's current one."""

    def __init__(self, lesson: Lesson, trace: Trace, after: str = "", kept: KeptAnswers | None = None) -> None:
        """``after`` is the next lesson, if any; ``kept`` keeps the answers, if given. Raise UnknownStopError for a stop
        that does not exist.
        """
        self.lesson = lesson
        self.after = after
        self.places = tuple(_places(lesson, trace))
        self.at = 0
        self.answers = None if kept is None else LessonAnswers(kept, lesson.name, self.asked)

    @property
    def place(self) -> Place:
        """The reader's current place."""
        return self.places[self.at]

    @property
    def is_aside(self) -> bool:
        """True if the current passage is about no step, such as a request to change or write something."""
        return not self.place.passage.stop

    @property
    def asked(self) -> Mapping[int, str]:
        """The steps with a question, and the lesson's names for them."""
        return {place.step: place.passage.stop for place in self.places if place.asks}

    def moved(self, forward: bool) -> Place | None:
        """Go to the next place, or back to the one before, and return it; None if there is none."""
        at = self.at + (1 if forward else -1)
        if not 0 <= at < len(self.places):
            return None
        self.at = at
        return self.place


def _places(lesson: Lesson, trace: Trace) -> Iterator[Place]:
    step = 0
    for passage in lesson.passages:
        step = step_named(trace, passage.stop) if passage.stop else step
        yield Place(passage, step)
