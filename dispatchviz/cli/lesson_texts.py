"""Lessons as text: the list of all, a hand-out of one, the beginning of a new one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.trace_predictions import prediction_at
from dispatchviz.explain.sentences.step_labels import label
from dispatchviz.explain.sentences.step_sentences import why_here
from dispatchviz.lessons.catalog import all_lessons
from dispatchviz.lessons.guide import Guide, Place
from dispatchviz.lessons.lesson_file import LessonError, read_lesson

NEW = '''\
# # The title of the lesson: a question
#
# What it is about, in a few sentences. Comments at the margin are prose in Markdown, all else is the program.
# The phases below come in this order; each may be left out.

import torch

x = torch.ones(2, requires_grad=True)
y = x * 2

# ## Predict
#
# predict: call mul
# Shown when the reader has answered: which key won, and why.
#
# ## Investigate
#
# stop: y's Node
# What there is to see at this step.
#
# ## Modify
#
# What to change in the program, and what will be different then.


def check(trace):
    """What the lesson has shown: dispatchviz lesson check runs it on the trace of the program."""
    assert_subsequence(trace, [call("aten::mul.Tensor", "AutogradCPU"), redispatch("aten::mul.Tensor", "CPU")])
'''


def listed(folder: Path | None) -> list[str]:
    """A line a lesson: its number, its name, its title."""
    lessons = [read_lesson(path) for path in all_lessons(folder)]
    width = max((len(lesson.name) for lesson in lessons), default=0)
    return [f"{number:>2}  {lesson.name:<{width}}  {lesson.title}" for number, lesson in enumerate(lessons, 1)]


def write_new(file: Path) -> None:
    """Writes the beginning of a lesson. LessonError if there is a file already, it cannot be written, or no command
    would take it for a lesson."""
    if file.suffix != ".py":
        raise LessonError(f"a lesson is a .py file, which {file} is not: dispatchviz lesson new {file}.py")
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(NEW)
    except FileExistsError:
        raise LessonError(f"{file} is there already; nothing was written") from None
    except OSError as error:
        raise LessonError(f"cannot write {file}: {error.strerror}") from None


def hand_out(guide: Guide, trace: Trace) -> Iterator[str]:
    """The lesson as Markdown: its program, its prose, and what there is to see at each stop; answers come last."""
    lesson = guide.lesson
    yield f"# {lesson.title}"
    yield ""
    answers: list[str] = []
    phase = ""
    shown_program = False
    for place in guide.places:
        if place.passage.phase != phase:
            if not shown_program:
                yield from _program(lesson.program)
                shown_program = True
            phase = place.passage.phase
            yield from (f"## {phase}", "")
        yield from _place(place, trace, answers)
    if answers:
        yield from ("## Answers", "", *answers)


def _program(source: str) -> Iterator[str]:
    """The program without its prose, blank lines at most one by one."""
    yield "```python"
    lines = [line for line in source.split("\n") if not line.startswith("#")]
    for before, line in zip(["", *lines], lines, strict=False):
        if line or before:
            yield line
    yield from ("```", "")


def _place(place: Place, trace: Trace, answers: list[str]) -> Iterator[str]:
    asked = prediction_at(trace, place.step) if place.asks else None
    if asked is not None:
        said = " ".join(place.passage.text.split())
        answers.append(f"{len(answers) + 1}. {asked.right.text}: {asked.right.why} {said}".strip())
        yield f"**Question {len(answers)}.** {asked.question}"
        yield ""
        yield from (f"- {known}" for known in asked.known)
        yield from (f"- [ ] {choice.text}" for choice in asked.choices)
        yield ""
        return
    if place.passage.stop:
        yield f"> step {place.step}: `{label(trace, place.step)}`  "
        yield f"> {why_here(trace, place.step)}"
        yield ""
    yield from (*place.passage.text.split("\n"), "")
