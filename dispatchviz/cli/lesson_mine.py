"""``dispatchviz lesson NAME --mine FILE``: a learner's program, compared with the lesson's."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dispatchviz.cli.lesson_check import run_lesson
from dispatchviz.foundation.english import shortened
from dispatchviz.foundation.terminal_output import print_lines
from dispatchviz.lessons.lesson_file import Lesson
from dispatchviz.lessons.mine.facts import Fact, facts
from dispatchviz.lessons.mine.goals import Reached, by_phase, counts, is_done, reached
from dispatchviz.lessons.mine.hints import hints
from dispatchviz.lessons.mine.learner_program import learners_lesson, write_first
from dispatchviz.lessons.problem import LessonError
from dispatchviz.running.program import Outcome
from dispatchviz.views.text.console import Console, terminal

GOAL_MISSED = 1
"""The exit status if a goal does not hold in each phase that has goals."""

LONGEST = 240
"""The length of a reason in the report."""

REACHED, MISSED, CHANGED = ("✓", "green"), ("✗", "red"), ("≠", "blue")
"""The signs of the report, each with its color: of goals and facts that hold, of other goals, of changed facts."""


def show_mine(lesson: Lesson, named: Sequence[str], path: Path, hint: int) -> int:
    """Compare a learner's program with the lesson's; return the exit status. ``named`` are the words of the command
    that name the lesson. ``hint`` is the number of hints to print. A file that does not exist is written first.
    """
    command = shlex.join(["dispatchviz", "lesson", *named, "--mine", str(path)])
    if not path.exists():
        write_first(lesson, path)
        print_lines([f"{path} written: the program of the lesson, and its tasks", f"Change it, then run: {command}"])
        return 0
    mine = learners_lesson(lesson, path)
    outcome, of_lesson = run_mine(mine), run_lesson(lesson)
    found = facts(lesson, of_lesson.trace, mine, outcome.trace)
    goals = reached(mine, outcome.trace)
    console = terminal()
    opened = f"dispatchviz run --step STEP {shlex.quote(str(path))}"
    all_hints = hints(lesson, found, goals, opened)
    console.print(_report(lesson, path, found, goals, opened, console))
    if type(outcome.error).__name__ not in ("NoneType", lesson.raises):
        print_lines(["", outcome.error_message, f"Why: dispatchviz why {shlex.quote(str(path))}"])
    console.print(_hints(all_hints, hint, command, console))
    return 0 if is_done(goals) else GOAL_MISSED


def run_mine(mine: Lesson) -> Outcome:
    """Run a learner's program and record it. Raise LessonError if it records nothing."""
    outcome = run_lesson(mine)
    if not len(outcome.trace):
        raise LessonError(f"{mine.path}: nothing was recorded; a program for a lesson must call PyTorch")
    return outcome


def _report(
    lesson: Lesson, path: Path, found: Sequence[Fact], goals: Sequence[Reached], opened: str, console: Console
) -> Iterator[str]:
    held = f"{sum(fact.holds for fact in found)} of {len(found)} facts of the lesson hold"
    yield console.heading(lesson.title)
    yield f"{path}: {', '.join(filter(None, (counts(goals), held)))}"
    groups = by_phase(goals)
    for phase, group in groups.items():
        yield from ("", console.heading(f"Goals of {phase}" if len(groups) > 1 else "Goals"))
        for goal in group:
            sign = REACHED if goal.holds else MISSED
            yield from _row(sign, goal.goal.text, () if goal.holds else goal.why, console)
    yield from ("", console.heading("Facts of the lesson"))
    for fact in found:
        sign = REACHED if fact.holds else CHANGED
        yield from _row(sign, fact.about, () if fact.holds else _change(fact, opened), console)
    if not all(fact.holds for fact in found):
        yield "A changed fact is no mistake."


def _change(fact: Fact, opened: str) -> Iterator[str]:
    yield fact.change
    if fact.asks and fact.mine.step is not None:
        yield f"look: {opened.replace('STEP', str(fact.mine.step))}"


def _row(sign: tuple[str, str], text: str, more: Iterable[str], console: Console) -> Iterator[str]:
    first, *rest = console.wrapped(text, 4)
    yield f"  {console.styled(*sign)} {first.lstrip()}"
    yield from rest
    for each in more:
        yield from console.wrapped(shortened(each, LONGEST), 6)


def _hints(all_hints: Sequence[str], shown: int, command: str, console: Console) -> Iterator[str]:
    if not all_hints:
        return
    yield ""
    for number, text in enumerate(all_hints[:shown], 1):
        yield console.heading(f"Hint {number} of {len(all_hints)}")
        for row in text.split("\n"):
            yield from console.wrapped(row, 2)
    if shown < len(all_hints):
        more = "A hint" if not shown else "The next hint"
        yield f"{more}: {command} --hint {shown + 1}"
