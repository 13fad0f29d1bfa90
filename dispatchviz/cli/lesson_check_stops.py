"""The check of a lesson's stops: each happens, its question can be asked, and the questions are in order.

The form and the order of questions count on the model only, because the stepper shows the model. A recording of an
installed PyTorch has the Node of a call after the calls that its kernel makes.
"""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.explain.predictions.trace_predictions import prediction_at
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.lessons.asked.own_questions import Asked
from dispatchviz.lessons.asked.question_text import QuestionError
from dispatchviz.lessons.lesson_file import Lesson
from dispatchviz.lessons.passages import Passage
from dispatchviz.lessons.problem import Problem
from dispatchviz.lessons.stop_steps import NoStepError, UnknownStopError, UnseenStopError
from dispatchviz.lessons.stops import step_named
from dispatchviz.trace import Trace


def stops_without_step(lesson: Lesson, trace: Trace) -> list[int]:
    """Return the lines of the stops that do not happen."""
    return [passage.line for passage in lesson.stops if isinstance(_found(trace, passage), NoStepError)]


def stop_problems(lesson: Lesson, trace: Trace, own: Asked) -> Iterator[Problem]:
    """Yield the problems of the stops. ``own`` has the lesson's own questions.

    A question must come before any stop at a later step: otherwise the reader, on the way to that stop, would be asked
    the question early.
    """
    latest = -1
    for passage in lesson.stops:
        step = _found(trace, passage)
        if isinstance(step, UnseenStopError):
            yield Problem(passage.line, f"only the model shows this: {step.why}", True)
        elif isinstance(step, UnknownStopError):
            yield Problem(passage.line, str(step))
        else:
            yield from _asked(trace, passage, step, latest, own)
            latest = max(latest, step)
    if not lesson.stops:
        yield Problem(1, "the lesson has no stop, which is a line such as # stop: z's Node")


def _found(trace: Trace, passage: Passage) -> int | UnknownStopError:
    try:
        return step_named(trace, passage.stop)
    except UnknownStopError as error:
        return error


def _asked(trace: Trace, passage: Passage, step: int, latest: int, own: Asked) -> Iterator[Problem]:
    """Yield the problem of the question at a stop, if any."""
    asked = own.get(passage.line)
    if isinstance(asked, QuestionError):
        yield Problem(asked.line, str(asked))
    elif not passage.asks or is_live(trace.header):
        return
    elif asked is None and prediction_at(trace, step) is None:
        yield Problem(passage.line, f"step {step} answers no question: write # stop: {passage.stop}")
    elif step <= latest:
        text = f"step {step} answers it, but an earlier stop is at step {latest}: ask before that stop"
        yield Problem(passage.line, text)
