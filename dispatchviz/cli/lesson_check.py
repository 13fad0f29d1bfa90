"""Check a lesson: its program ends as stated, its stops exist, its questions can be asked, its assertions pass. A
problem is reported with its line in the file.
"""

from __future__ import annotations

import ast
import io
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, suppress
from pathlib import Path
from typing import Any

import dispatchviz.testing
from dispatchviz.cli.lesson_check_stops import stop_problems, stops_without_step
from dispatchviz.cli.recorded_values import SMALL
from dispatchviz.core.record import events
from dispatchviz.explain.predictions.prediction import Prediction
from dispatchviz.foundation.english import counted
from dispatchviz.foundation.shipped_examples import script_of
from dispatchviz.foundation.terminal_output import Dropped
from dispatchviz.lessons.asked.own_questions import Asked, own_questions
from dispatchviz.lessons.lesson_file import Lesson, read_draft
from dispatchviz.lessons.mine.goals import by_phase, goal_problems, is_done, reached
from dispatchviz.lessons.problem import Problem, WrongLessonError, placed, refusal
from dispatchviz.running.engines import engine_named
from dispatchviz.running.program import Outcome, run
from dispatchviz.running.recording import EngineName
from dispatchviz.testing.known_names import UnseenError
from dispatchviz.testing.trace_text import TraceText, explained
from dispatchviz.trace import Trace

STANDARD_ERROR = 2
"""The file descriptor of standard error."""


def checked(path: Path, engine: EngineName = "model") -> tuple[list[str], bool]:
    """Check a lesson on an engine. Return a line with its counts, or a line for each problem; and whether there is
    no problem. Lines about the limits of a recording follow the counts.
    """
    lesson = read_draft(path)
    with ExitStack() as stack:
        with suppress(OSError):  # standard error is closed
            stack.enter_context(Dropped(STANDARD_ERROR))  # C++ prints warnings there
        found = list(problems(lesson, engine))
    rows = placed(path, found)
    if not all(problem.is_limit for problem in found):
        return rows, False
    questions = sum(passage.asks for passage in lesson.stops)
    stops = counted(len(lesson.stops), "stop")
    return [f"{lesson.name}: {stops}, {counted(questions, 'question')}, no problems", *rows], True


def with_all_problems(error: WrongLessonError) -> WrongLessonError:
    """Return the error for a lesson that cannot be opened, with the number of all problems that its check prints."""
    found = [problem for problem in problems(read_draft(error.path)) if not problem.is_limit]
    return refusal(error.path, error.problems, found)


def run_lesson(lesson: Lesson, engine: EngineName = "model") -> Outcome:
    """Run the program of a lesson and record it. Nothing is printed; warnings behave as in a new process."""
    with _quiet():
        return run(
            script_of(lesson.path),
            (),
            io.StringIO(),
            rewritten=lambda source: lesson.program,
            engine=engine_named(engine),
            **SMALL._asdict(),
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop warnings and what is written to ``sys.stderr``."""
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
        warnings.resetwarnings()
        warnings.simplefilter("default")
        yield


def problems(lesson: Lesson, engine: EngineName = "model") -> Iterator[Problem]:
    """Yield all problems of a lesson, which may be a draft."""
    yield from lesson.problems
    if not lesson.is_python:
        return
    outcome = run_lesson(lesson, engine)
    yield from _name(lesson)
    yield from _told(lesson)
    yield from _without_check(lesson)
    own = own_questions(lesson, outcome.trace, engine_named(engine))
    yield from _differences(own, own_questions(lesson, outcome.trace, engine_named(engine)))
    found = list(stop_problems(lesson, outcome.trace, own))
    end = _end(lesson, outcome)
    if end is None:
        yield from found
        yield from _check(lesson, outcome.trace, any(problem.is_limit for problem in found))
    else:
        lacking = stops_without_step(lesson, outcome.trace)
        yield end._replace(text=end.text + _follows(lacking))
        yield from (problem for problem in found if problem.line not in lacking)
    yield from _goals(lesson, outcome.trace)
    yield from _facts(lesson, engine)


def _end(lesson: Lesson, outcome: Outcome) -> Problem | None:
    """Return the problem if the program ends in another way than the lesson states."""
    name = type(outcome.error).__name__ if outcome.error is not None else ""
    if name == lesson.raises:
        return None
    meant = f"expects # raises: {lesson.raises}" if lesson.raises else "expects no error"
    return Problem(outcome.location[1] or 1, f"the program {_ended(outcome, name)}, but the lesson {meant}")


def _follows(lines: Sequence[int]) -> str:
    """Return what follows from a wrong end."""
    return f"; the stops in these lines do not happen then: {', '.join(map(str, lines))}" if lines else ""


def _ended(outcome: Outcome, name: str) -> str:
    return f"raises {name}: {outcome.error}" if name else "ends well"


def _name(lesson: Lesson) -> Iterator[Problem]:
    """Report a file named like a module of Python, because it hides that module from all programs in its folder."""
    if lesson.name in sys.stdlib_module_names:
        yield Problem(
            1, f"Python has a module {lesson.name}, and this file hides it from the programs beside it: rename the file"
        )


def _told(lesson: Lesson) -> Iterator[Problem]:
    """Yield a problem for each assertion of the program, because learners read it before the questions."""
    if any(passage.asks for passage in lesson.stops):
        for node in ast.walk(ast.parse(lesson.program)):
            if isinstance(node, ast.Assert):
                text = "learners read this assertion before the questions; put it into facts() or check(trace)"
                yield Problem(node.lineno, text)


def _differences(own: Asked, again: Asked) -> Iterator[Problem]:
    """Yield a problem for each answer that another run of the program gives differently."""
    for line, asked in own.items():
        other = again[line]
        if isinstance(asked, Prediction) and isinstance(other, Prediction) and asked.right != other.right:
            text = f"the answer is {asked.right.text} in one run and {other.right.text} in the next"
            yield Problem(line, f"{text}; begin the program with torch.manual_seed(0) or random.seed(0)")


def _goals(lesson: Lesson, trace: Trace) -> Iterator[Problem]:
    """Yield a problem for each goal that is no expression, or for each phase whose goals the lesson's own program
    reaches.
    """
    wrong = list(goal_problems(lesson, trace))
    yield from wrong
    for phase, group in by_phase(reached(lesson, trace) if lesson.goals and not wrong else []).items():
        if is_done(group):
            text = f"the program of the lesson reaches all goals of {phase}, so learners have nothing to change"
            yield Problem(group[0].goal.line, text)


def _names(lesson: Lesson) -> dict[str, Any]:
    """Return the functions of a lesson's assertions, and the names that they can use."""
    names: dict[str, Any] = {name: getattr(dispatchviz.testing, name) for name in dispatchviz.testing.__all__}
    names["ev"] = events
    exec(compile(lesson.assertions, str(lesson.path), "exec"), names)
    return names


def _without_check(lesson: Lesson) -> Iterator[Problem]:
    if "check" not in _names(lesson):
        yield Problem(1, "the lesson has no closing assertion: def check(trace): ...")


def _check(lesson: Lesson, trace: Trace, lacks_steps: bool) -> Iterator[Problem]:
    """Run ``check`` on the trace; yield a problem if it fails. It describes the steps of the model, so it does not run
    on a recording that lacks some of them.
    """
    check = _names(lesson).get("check")
    if check is None:
        return
    line = check.__code__.co_firstlineno
    if lacks_steps:
        yield Problem(line, "check(trace) did not run, because the recording lacks steps of the lesson", True)
        return
    TraceText.last = None
    try:
        check(trace)
    except UnseenError as error:
        yield Problem(line, f"check(trace) did not run: {error}", True)
    except Exception as error:
        yield _failed(lesson, error)


def _facts(lesson: Lesson, engine: EngineName) -> Iterator[Problem]:
    """Run ``facts`` on the engine; yield a problem if it fails."""
    if "facts" not in _names(lesson):
        return
    with _quiet():
        outcome = run(
            str(lesson.path),
            (),
            io.StringIO(),
            rewritten=lambda source: f"{lesson.assertions}facts()\n",
            engine=engine_named(engine),
        )
    if outcome.error is not None:
        yield _problem(lesson, outcome.location[1] or 1, outcome.error)


def _failed(lesson: Lesson, error: Exception) -> Problem:
    """Return the problem of a ``check`` that failed, at its line in the lesson."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame.lineno or 1 for frame in frames if frame.filename == str(lesson.path)]
    more = explained(error) if isinstance(error, AssertionError) and not str(error) else ""
    return _problem(lesson, own[-1] if own else 1, error, more)


def _problem(lesson: Lesson, line: int, error: BaseException, more: str = "") -> Problem:
    """Return a problem for an error. An assertion without a message is reported by its source line."""
    message = str(error) or lesson.assertions.split("\n")[line - 1].strip()
    return Problem(line, "\n".join(filter(None, (f"{type(error).__name__}: {message}", more))))
