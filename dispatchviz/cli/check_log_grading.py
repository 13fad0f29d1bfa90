"""Grade homework for ``dispatchviz check-log``: saved traces, and with the goals of a lesson also programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from dispatchviz.cli.check_log_table import OF_GOALS, OF_LINES, TRACES, Graded, logs_in
from dispatchviz.cli.input_source import load
from dispatchviz.cli.lesson_mine import run_mine
from dispatchviz.core.record.events import ProgramRaised
from dispatchviz.core.record.trace_file import TraceError
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.lessons.catalog import lesson_named
from dispatchviz.lessons.lesson_file import Lesson
from dispatchviz.lessons.mine.goals import Reached, goal_problems, reached, reached_in_log
from dispatchviz.lessons.mine.learner_program import learners_lesson
from dispatchviz.lessons.problem import LessonError, refusal
from dispatchviz.testing.expected_log import Line, every, read_expected
from dispatchviz.testing.marking import marked
from dispatchviz.trace import Trace

PROGRAM = ".py"
"""The suffix of a program."""


class HomeworkError(DispatchvizError):
    """Homework that cannot be read."""


def _lesson(name: str) -> Lesson:
    lesson = lesson_named(name, None)
    if not lesson.goals:
        raise LessonError(f"the lesson {name} has no goals, which are lines such as # goal: x.grad is None")
    return lesson


class Grader(Struct, frozen=True):
    """The expectations that homework is graded with."""

    expected: Sequence[Line]
    file: str
    """The name of the answer file; empty if there is none."""
    lesson: Lesson | None

    @property
    def phases(self) -> list[str]:
        """The phases that have goals, for headings; one empty text if there is only one."""
        found = dict.fromkeys(goal.phase for goal in (self.lesson.goals if self.lesson else ()))
        return list(found) if len(found) > 1 else [""] * len(found)

    @property
    def counts(self) -> list[str]:
        """The headings of the numbers of lines, and of the goals of each phase."""
        of_goals = [f"{phase} {name}".strip() for phase in self.phases for name in OF_GOALS]
        return [*(OF_LINES if self.expected else ()), *of_goals]

    @property
    def cells(self) -> list[str]:
        """The headings of the lines of the answer file, and of the goals."""
        lines = [f"line {line.number}: {line.text.strip()}" for line in every(self.expected)]
        goals = self.lesson.goals if self.lesson else ()
        return [*lines, *(f"{f'{goal.phase} ' * (len(self.phases) > 1)}goal: {goal.text}" for goal in goals)]

    @property
    def what(self) -> str:
        """The things that are graded, in words."""
        goals = "goals of a phase" if len(self.phases) > 1 else "goals"
        return " and ".join([*["lines"] * bool(self.expected), *[goals] * (self.lesson is not None)])

    def logs_in(self, paths: Sequence[str]) -> list[str]:
        """Return the logs in files and folders, without the file of the lesson."""
        if self.lesson is None:
            return logs_in(paths)
        own = self.lesson.path.resolve()
        return [log for log in logs_in(paths, (*TRACES, PROGRAM)) if Path(log).resolve() != own]

    def graded(self, log: str) -> Graded:
        """Read a saved trace, or run a program, and grade it. Raise HomeworkError if that fails, and DispatchvizError
        for an expectation that is not understood.
        """
        mine = None
        try:
            if self.lesson is None or not log.endswith(PROGRAM):
                trace = load(log)
            else:
                mine = learners_lesson(self.lesson, Path(log))
                trace = run_mine(mine).trace
        except (TraceError, LessonError) as error:
            raise HomeworkError(str(error)) from None
        goals = () if self.lesson is None else _goals(self.lesson, mine, trace)
        marks = tuple(marked(trace, self.expected, self.file)) if self.expected else ()
        return Graded(log, trace.header.program, marks, goals, "; ".join(filter(None, (_raised(trace), _note(goals)))))


def graded_by(answers: tuple[str, str] | None, lesson: str | None) -> Grader:
    """Return the grader for an answer file, given by its text and name, and the name of a lesson. Raise
    DispatchvizError if one of them is not understood, or if the lesson has no goals.
    """
    text, file = answers or ("", "")
    return Grader(read_expected(text, file) if answers else (), file, None if lesson is None else _lesson(lesson))


def _goals(lesson: Lesson, mine: Lesson | None, trace: Trace) -> tuple[Reached, ...]:
    if problems := list(goal_problems(lesson, trace)):
        raise refusal(lesson.path, problems)
    return tuple(reached_in_log(lesson, trace) if mine is None else reached(mine, trace))


def _raised(trace: Trace) -> str:
    """Return the exception that left the program, in one line: ``RuntimeError: ...``; empty if it ended well."""
    last = trace[len(trace) - 1] if len(trace) else None
    if not isinstance(last, ProgramRaised):
        return ""
    message = next(iter(last.message.splitlines()), "")
    return f"{last.exception}{message and ': '}{message}"


def _note(goals: Sequence[Reached]) -> str:
    """Return the reason why some goals have no value; an empty text if all have one."""
    unknown = [goal for goal in goals if goal.needs_program]
    if not unknown:
        return ""
    need = f"{len(unknown)} of {len(goals)} goals need the variables of the program"
    return f"{need}, and a log has none: grade the program (.py)"
