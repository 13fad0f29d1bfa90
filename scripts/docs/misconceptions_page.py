"""The page of misconceptions, made from the lessons in ``examples/misconceptions``.

Each program is run. Below its question are the answer and the rows of the log that contradict the belief.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from itertools import groupby, takewhile
from textwrap import fill
from unittest.mock import patch

from dispatchviz.cli import main
from dispatchviz.cli.lesson_check import run_lesson
from dispatchviz.core.record.events import SourceLine
from dispatchviz.explain.trace_index.enclosing_steps import source_text, user_stack
from dispatchviz.lessons.catalog import misconceptions
from dispatchviz.lessons.guide import Guide, Place
from dispatchviz.lessons.lesson_file import read_lesson
from dispatchviz.trace import Trace
from scripts.docs.page_runs import ROOT, PageError, excerpt

PAGE = ROOT / "docs" / "misconceptions.md"
FOLDER = "examples/misconceptions"

HEAD = f"""# Misconceptions

These {len(misconceptions())} questions are about beliefs that many people have about PyTorch. Each has a short
program. Answer the question first, and then open the answer. It names the belief, shows the step of the trace that
contradicts it, and says what is true instead.

`dispatchviz lesson` lists these questions after the other lessons, and `dispatchviz lesson detach_memory` asks one in
the stepper. The answers are values of the programs, not texts: `lesson check --engine torch` evaluates them
on your PyTorch. Written by `python -m scripts.docs docs/misconceptions.md` from `{FOLDER}`.
"""


def page() -> str:
    """Return the text of the page."""
    parts = (part for path in misconceptions() for part in _section(path.stem))
    return "\n\n".join([HEAD.strip(), *filter(None, parts)]) + "\n"


def _section(name: str) -> Iterator[str]:
    lesson = read_lesson(ROOT / FOLDER / f"{name}.py")
    trace = run_lesson(lesson).trace
    about, asked, *others = Guide(lesson, trace).places
    yield f"## {lesson.title}"
    yield about.passage.text
    yield f"```python\n{lesson.program.strip()}\n```"
    yield from _question(trace, asked)
    yield "<details>\n<summary>Answer</summary>"
    yield from _answer(asked)
    yield "**The step:**"
    yield from _steps(trace, [asked, *others], f"{FOLDER}/{name}.py")
    *steps, truth = "\n\n".join(place.passage.text for place in (asked, *others)).split("\n\n")
    yield from map(_filled, (*steps, f"**Instead:** {truth}"))
    yield f"In the stepper: `dispatchviz lesson {name}`"
    yield "</details>"


def _question(trace: Trace, asked: Place) -> Iterator[str]:
    assert asked.question is not None
    yield _filled(f"**At `{source_text(trace, _line(trace, asked.step))}`:** {asked.question.question}")
    yield "\n".join(f"- {choice.text}" for choice in asked.question.choices)


def _line(trace: Trace, step: int) -> SourceLine:
    """Return the line of the program's own level that a step belongs to."""
    return user_stack(trace, step)[0]


def _answer(asked: Place) -> Iterator[str]:
    """Yield the right answer with its reason, and the belief with the reply to it."""
    assert asked.question is not None
    assert asked.passage.question is not None
    yield _filled(f"**{asked.question.right.text}.** {asked.question.right.why}")
    choices = asked.passage.question.choices
    yield from (_filled(f'**The belief:** "{each.text}". {each.reply}') for each in choices if each.reply)


def _filled(text: str) -> str:
    return fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False)


def _steps(trace: Trace, places: Sequence[Place], file: str) -> Iterator[str]:
    """Yield the steps in the output of the commands that print their lines. A stop at a line shows nothing yet."""
    steps = [place.step for place in places if not isinstance(trace[place.step], SourceLine)]
    for line, same in groupby(steps, lambda step: _line(trace, step).line):
        command = ["trace", "--line", str(line), file]
        printed = _printed(command)
        rows = excerpt(printed, [at for step in same for at in _rows(printed, step)])
        yield "\n".join(["```text", f"$ dispatchviz {' '.join(command)}", *rows, "```"])


def _printed(command: list[str]) -> list[str]:
    printed = io.StringIO()
    with (
        chdir(ROOT),
        patch.dict(os.environ, {"COLUMNS": "80", "DISPATCHVIZ_CUDA": "emulated"}),
        redirect_stdout(printed),
        redirect_stderr(io.StringIO()),
    ):
        main(command)
    return printed.getvalue().splitlines()


def _rows(printed: list[str], step: int) -> Iterator[int]:
    """Yield the numbers of the rows of a step and its reason. Raise PageError if the step is missing."""
    at = next((at for at, row in enumerate(printed) if row.split()[:1] == [str(step)]), None)
    if at is None:
        raise PageError(f"the output has no step {step}:\n" + "\n".join(printed))
    yield at
    yield from takewhile(lambda row: printed[row].lstrip().startswith("|"), range(at + 1, len(printed)))
