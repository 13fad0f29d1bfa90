"""The goals of a lesson at the end of a learner's program, with the values that they compare."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from msgspec import Struct

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.shipped_examples import script_of
from dispatchviz.lessons.asked.evaluation import Result, values
from dispatchviz.lessons.asked.expression import Expression, ExpressionError
from dispatchviz.lessons.asked.line_visits import end_of_program
from dispatchviz.lessons.asked.shown_values import YES, shown
from dispatchviz.lessons.asked.trace_words import KNOWN, TraceWords
from dispatchviz.lessons.lesson_file import Lesson
from dispatchviz.lessons.passages import Goal
from dispatchviz.lessons.problem import Problem
from dispatchviz.running.engines import MODEL


class NeedsProgramError(ExpressionError):
    """A goal over the variables of a program, of which there is only a log."""


class Reached(Struct, frozen=True):
    """A goal with its value."""

    goal: Goal
    value: Result
    parts: tuple[tuple[str, Result], ...]
    """The values that the goal compares: ``x.grad`` and what it is."""

    @property
    def holds(self) -> bool:
        """True if the goal is reached."""
        return self.value == YES

    @property
    def needs_program(self) -> bool:
        """True if it has no value, because there is only a log of the program."""
        return isinstance(self.value, NeedsProgramError)

    @property
    def why(self) -> Iterator[str]:
        """The reasons why it is not reached."""
        if isinstance(self.value, Exception):
            yield str(self.value)
        yield from (f"{text} is {value}" for text, value in self.parts if isinstance(value, str))


def by_phase(goals: Sequence[Reached]) -> dict[str, list[Reached]]:
    """Return the goals of each phase that has some, in the order of the phases."""
    groups: dict[str, list[Reached]] = {}
    for goal in goals:
        groups.setdefault(goal.goal.phase, []).append(goal)
    return groups


def is_done(goals: Sequence[Reached]) -> bool:
    """Return whether a program reaches all goals of a phase, or there are none. The program of one phase need not reach
    the goals of the other.
    """
    return not goals or any(all(goal.holds for goal in group) for group in by_phase(goals).values())


def counts(goals: Sequence[Reached]) -> str:
    """Return ``2 of 3 goals reached``, for each phase if both have goals: ``Modify: 2 of 2 goals reached, Make: ...``;
    empty without goals.
    """
    groups = by_phase(goals)
    return ", ".join(
        f"{f'{phase}: ' * (len(groups) > 1)}{sum(goal.holds for goal in group)} of {len(group)} goals reached"
        for phase, group in groups.items()
    )


def reached(lesson: Lesson, trace: Trace) -> list[Reached]:
    """Return the goals of a lesson, evaluated at the end of its program."""
    parts = {goal: list(_parts(goal.text)) for goal in lesson.goals}
    texts = [text for goal in lesson.goals for text in (goal.text, *parts[goal])]
    place = end_of_program(trace)
    results = iter(values(script_of(lesson.path), lesson.program, trace, [(text, place) for text in texts], MODEL))
    return [Reached(goal, next(results), tuple((text, next(results)) for text in parts[goal])) for goal in lesson.goals]


def reached_in_log(lesson: Lesson, trace: Trace) -> list[Reached]:
    """Return the goals of a lesson, evaluated at the end of a saved trace. No program runs, so a goal that reads its
    variables has a NeedsProgramError instead of a value. Raise ExpressionError for a goal that is no expression.
    """
    return [Reached(goal, _in_log(goal, trace), ()) for goal in lesson.goals]


def _in_log(goal: Goal, trace: Trace) -> Result:
    expression = Expression(goal.text, TraceWords(trace, len(trace) - 1).functions)
    needed = [name for name in expression.variables if name not in KNOWN]
    try:
        return shown(expression.value({}, KNOWN, end_of_program(trace).text))
    except ExpressionError as error:
        if not needed:
            return error
        names = " and ".join(needed)
        return NeedsProgramError(f"{goal.text!r} needs {names} of the program, and a log has no variables")


def goal_problems(lesson: Lesson, trace: Trace) -> Iterator[Problem]:
    """Yield a problem for each goal that is no expression."""
    for goal in lesson.goals:
        try:
            Expression(goal.text, TraceWords(trace, len(trace) - 1).functions)
        except ExpressionError as error:
            yield Problem(goal.line, str(error))


def _parts(text: str) -> Iterator[str]:
    """Yield the sides of the comparisons in an expression, without constants."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):  # the goal itself has the error
        return
    yield from dict.fromkeys(_sides(tree))


def _sides(tree: ast.expr) -> Iterator[str]:
    match tree:
        case ast.BoolOp():
            for value in tree.values:
                yield from _sides(value)
        case ast.UnaryOp(op=ast.Not()):
            yield from _sides(tree.operand)
        case ast.Compare():
            for side in (tree.left, *tree.comparators):
                if not all(
                    isinstance(part, ast.Constant | ast.List | ast.Tuple | ast.expr_context) for part in ast.walk(side)
                ):
                    yield ast.unparse(side)
