"""A lesson beside the trace of its program: which step each passage is about, and where the reader is.

A passage without a stop of its own is read where the one before it was.
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
    """A passage and the step at which it is read."""

    passage: Passage
    step: int

    @property
    def asks(self) -> bool:
        """The reader is asked for what the step tells."""
        return self.passage.asks


class Guide:
    """The places of a lesson in the order of its file, and the one that the reader is at."""

    def __init__(self, lesson: Lesson, trace: Trace, after: str = "", kept: KeptAnswers | None = None) -> None:
        """``after`` is the lesson that comes next, if one does, ``kept`` where answers are kept, if they are.
        UnknownStopError for a stop that is not there."""
        self.lesson = lesson
        self.after = after
        self.places = tuple(_places(lesson, trace))
        self.at = 0
        self.answers = None if kept is None else LessonAnswers(kept, lesson.name, self.asked)

    @property
    def place(self) -> Place:
        """Where the reader is."""
        return self.places[self.at]

    @property
    def is_aside(self) -> bool:
        """The passage of the moment is about no step: what to change, what to write."""
        return not self.place.passage.stop

    @property
    def asked(self) -> Mapping[int, str]:
        """The steps that are asked for before they are shown, and how the lesson names them."""
        return {place.step: place.passage.stop for place in self.places if place.asks}

    def moved(self, forward: bool) -> Place | None:
        """Go on to the next place, or back to the one before; None if there is none."""
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
