"""The values of expressions at steps of a lesson's program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.lessons.asked.expression import Expression, ExpressionError
from dispatchviz.lessons.asked.line_visits import Place, Visit
from dispatchviz.lessons.asked.second_run import Done, run_again
from dispatchviz.lessons.asked.shown_values import shown
from dispatchviz.lessons.asked.trace_words import KNOWN, TraceWords
from dispatchviz.running.engines import Engine

Result = str | ExpressionError
"""A value as text, or the reason why there is none."""


class _Task:
    """An expression with its place, and its result after the second run."""

    def __init__(self, trace: Trace, text: str, place: Place) -> None:
        self._place = place
        self._expression: Expression | None = None
        why = "the line did not run again; a lesson's program must do the same in each run"
        self.result: Result = ExpressionError(f"{text!r} has no value: {why}", why)
        try:
            self._expression = Expression(text, TraceWords(trace, place.last).functions)
        except ExpressionError as error:
            self.result = error

    def evaluate(self, variables: Mapping[str, Any]) -> None:
        """Store the value, with the program's variables at the place."""
        if self._expression is None:
            return
        try:
            own = {name: value for name, value in variables.items() if not name.startswith("__")}
            self.result = shown(self._expression.value(own, KNOWN, self._place.text))
        except ExpressionError as error:
            self.result = error


def values(
    script: str, program: str, trace: Trace, wanted: Sequence[tuple[str, Place]], engine: Engine
) -> list[Result]:
    """Return the value of each expression at its place. The program runs once more, unless nothing is wanted."""
    tasks = [_Task(trace, text, place) for text, place in wanted]
    calls: dict[Visit, list[Done]] = {}
    for task, (_, place) in zip(tasks, wanted, strict=True):
        calls.setdefault(place.visit, []).append(task.evaluate)
    if calls:
        run_again(script, program, calls, engine)
    return [task.result for task in tasks]
