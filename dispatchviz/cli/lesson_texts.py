"""Lessons as text: the list of all, a hand-out of one, the template of a new one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import label, why_here
from dispatchviz.explain.predictions.prediction import Kind, Prediction
from dispatchviz.explain.trace_index.enclosing_steps import user_stack
from dispatchviz.lessons.catalog import all_lessons, misconceptions
from dispatchviz.lessons.guide import Guide, Place
from dispatchviz.lessons.lesson_file import read_lesson
from dispatchviz.lessons.passages import Passage
from dispatchviz.lessons.problem import LessonError
from dispatchviz.outputs.hand_out.marks import code as _code
from dispatchviz.outputs.hand_out.marks import plain as _plain

NEW = '''\
# # The title of the lesson: a question
#
# Say in a few sentences what the lesson is about. Comments at the left margin are prose in Markdown; the rest is
# the program. The phases below come in this order; you may leave out any of them.

import torch

x = torch.ones(2, requires_grad=True)
y = x * 2

# ## Predict
#
# stop: `y = x * 2`
# ask: Ask a question of your own before the reader sees this step: is `y` a leaf after `y = x * 2`?
# answer: y.is_leaf -> no
# because: An operator computed it. dispatchviz evaluates the answer, and compares it with yours after the arrow.
#
# predict: call mul
# The reader sees this after answering: say which key won, and why.
#
# ## Investigate
#
# stop: y's Node
# Say what to look at in this step.
#
# ## Modify
#
# Say what to change in the program, and what the change does.
#
# ## Make
#
# Say what to write. A goal must be true at the end of the reader's program. Hints go from a nudge to the answer.
#
# goal: y.tolist() == [3, 3]
# hint: Which number in the program decides the value of `y`?


def check(trace):
    """Check the claims of the lesson. dispatchviz lesson check runs this on the program's trace."""
    assert_subsequence(trace, [call("aten::mul.Tensor", "AutogradCPU"), redispatch("aten::mul.Tensor", "CPU")])
'''


def listed(folder: Path | None) -> list[str]:
    """Return a line for each lesson: its number, name and title. The lessons about misconceptions are a group."""
    lessons = [read_lesson(path) for path in all_lessons(folder)]
    width = max((len(lesson.name) for lesson in lessons), default=0)
    lines = [f"{number:>2}  {lesson.name:<{width}}  {lesson.title}" for number, lesson in enumerate(lessons, 1)]
    if folder is not None:
        return lines
    begin = len(lines) - len(misconceptions())
    return [*lines[:begin], "", "One misconception each:", *lines[begin:]]


def write_new(file: Path) -> None:
    """Write the template of a lesson. Raise LessonError if the file exists, cannot be written, or does not end in
    .py.
    """
    if file.suffix != ".py":
        raise LessonError(f"the name of a lesson must end in .py: dispatchviz lesson new {file}.py")
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(NEW)
    except FileExistsError:
        raise LessonError(f"{file} already exists; nothing was written") from None
    except OSError as error:
        raise LessonError(f"cannot write {file}: {error.strerror}") from None


def hand_out(guide: Guide, trace: Trace, paper: bool = False) -> Iterator[str]:
    """Yield the lesson as Markdown: its program, its prose, and the view at each stop. The answers come last.

    On paper there is space to write, and the answers start a new page. So does each phase after one with questions,
    because its stops show answers.
    """
    lesson = guide.lesson
    yield f"# {lesson.title}"
    yield ""
    if paper:
        command = f"dispatchviz lesson {guide.word}"
        yield from (
            f"Name {DOTS}",
            "",
            f"On the screen: `{command}`, for your own program: `{command} --mine mine.py`",
            "",
        )
    answers: list[str] = []
    program, ends_page = [*_program(lesson.program)], False
    for phase, group in groupby(guide.places, lambda place: place.passage.phase):
        places, before = list(group), len(answers)
        rows = list(_phase(places, trace, answers, paper))
        if phase or any(place.passage.stop for place in places):
            yield from program
            program = []
        yield from (PAGE_BREAK, "") if ends_page else ()
        yield from (f"## {phase}", "") if phase else ()
        yield from rows
        ends_page = paper and len(answers) > before
    yield from program
    if answers:
        yield from (PAGE_BREAK, "") if paper else ()
        yield from ("## Answers", "")
        for answer in answers:
            yield from (*answer.split("\n"), "")


def _phase(places: Iterable[Place], trace: Trace, answers: list[str], paper: bool) -> Iterator[str]:
    """Yield the places of a phase. A stop after a question is with the answer, because it may show it."""
    before = len(answers)
    for place in places:
        rows = _place(place, trace, answers, paper)
        if len(answers) > before and place.passage.stop and place.question is None:
            answers[-1] = "\n".join((answers[-1], "", *rows)).rstrip()
        else:
            yield from rows


DOTS = "…" * 36
"""A line to write on that Markdown renders as it is."""

PAGE_BREAK = '<div style="break-before: page"></div>'

LINES_TO_WRITE = 3
"""The number of lines to write on, where prose asks for an answer that is about no step."""

WRITING = ("Modify", "Make")
"""The phases whose prose always asks for an answer."""

_REQUEST = re.compile(r"\?|\b(Draw|Guess|Write)\b")


def _asks(passage: Passage) -> bool:
    return not passage.stop and (passage.phase in WRITING or bool(passage.phase and _REQUEST.search(passage.text)))


def _program(source: str) -> Iterator[str]:
    """Yield the program with the line numbers of the screen; consecutive blank lines become one."""
    lines = list(enumerate(source.split("\n"), 1))
    while lines and not lines[-1][1]:
        lines.pop()
    width = len(str(lines[-1][0])) if lines else 0
    yield "```python"
    before = ""
    for number, line in lines:
        if line or before:
            yield f"{number:>{width}}  {line}".rstrip() if line else ""
        before = line
    yield from ("```", "")


def _place(place: Place, trace: Trace, answers: list[str], paper: bool) -> Iterator[str]:
    asked = place.question
    if asked is not None:
        number, text = len(answers) + 1, _text(asked)
        yield from _question(number, asked, _where(trace, place.step), paper)
        answer = f"**{number}. {text(asked.right.text)}.** {text(asked.right.why)}".rstrip()
        answers.append("\n\n".join(filter(None, (answer, _replies(place.passage), place.passage.text))))
        return
    if place.passage.stop:
        yield f"> step {place.step}{_where(trace, place.step)}: {_code(label(trace, place.step))}  "
        yield f"> {_plain(why_here(trace, place.step))}"
        yield ""
    if place.passage.text:
        yield from (*place.passage.text.split("\n"), "")
    if paper and _asks(place.passage):
        yield from (DOTS, "") * LINES_TO_WRITE


def _replies(passage: Passage) -> str:
    """Return the replies to the choices of a question that gives no reason for its answer."""
    question = passage.question
    if question is None or question.because:
        return ""
    return "\n".join(f"- To {key}: {each.reply}" for key, each in enumerate(question.choices, 1) if each.reply)


def _text(asked: Prediction) -> Callable[[str], str]:
    """Return the function that writes a question's texts: those of a lesson's author are Markdown already."""
    return str if asked.kind is Kind.OWN else _plain


def _question(number: int, asked: Prediction, where: str, paper: bool) -> Iterator[str]:
    """Yield the question, the known facts, and the choices, numbered as their keys on the screen."""
    text = _text(asked)
    yield f"**Question {number}{where}.** {text(asked.question)}"
    yield ""
    if asked.known:
        yield from ("Known:", "", *(f"- {_plain(known)}" for known in asked.known), "", "Choices:", "")
    if asked.choices:
        yield from (f"{key}. ☐ {text(choice.text)}" for key, choice in enumerate(asked.choices, 1))
        yield ""
    elif paper:
        yield from (f"Answer: {DOTS}", "")
    if paper:
        yield from (f"Why? {DOTS}", "", DOTS, "")


def _where(trace: Trace, step: int) -> str:
    """Return the step's lines in the program: ``, line 27`` or ``, line 16, called from line 27``; empty if it has
    none.
    """
    lines = [f"line {line.line}" for line in reversed(user_stack(trace, step))]
    return f", {', called from '.join(lines)}" if lines else ""
