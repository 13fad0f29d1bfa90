"""A lesson with questions of its own, and its parts as the tests use them."""

from __future__ import annotations

from pathlib import Path

from dispatchviz.cli.lesson_check import Problem, problems, run_lesson
from dispatchviz.lessons.asked.own_questions import own_questions
from dispatchviz.lessons.asked.question_text import QuestionError
from dispatchviz.lessons.guide import Guide
from dispatchviz.lessons.lesson_file import Lesson, read_lesson

PROGRAM = """\
# # A title
# About.
import torch

x = torch.ones(2, requires_grad=True)
for i in range(3):
    h = x * (i + 1)
    with torch.no_grad():
        k = h + 1
def f(t):
    u = t * 2
    return u + x
z = f(f(x))
z.sum().backward()
count = 5
try:
    torch.mm(x, x)
except RuntimeError as error:
    print("cannot multiply")

"""

QUESTIONS = """\
# ## Predict
#
# stop: `z.sum().backward()`
# ask: Does `z.grad` have a gradient after this line?
# - yes: backward computes it
#   Backward frees it again.
# - no: only leaves keep theirs
# answer: z.grad is not None -> no
# because: `z` is the result of an operator.
#
# Ask `z.is_leaf`.
#
# stop: `count = 5`
# ask: What is `x.grad` now?
# answer: x.grad -> [7, 7]
#
# stop: error "must be a matrix"
# ask: Was `z` changed?
# answer: z._version > 0
"""

CHECK = """\


def check(trace):
    assert_count(trace, call("aten::mm"), 1)
"""


def written(folder: Path, questions: str, program: str = PROGRAM) -> Lesson:
    path = folder / "own.py"
    path.write_text(f"{program}{questions}{CHECK}", "utf-8")
    return read_lesson(path)


def guide(lesson: Lesson) -> Guide:
    return Guide(lesson, run_lesson(lesson).trace)


def value(folder: Path, stop: str, expression: str, program: str = PROGRAM) -> str:
    """Return the right answer, or the error, of a question."""
    lesson = written(folder, f"# stop: {stop}\n# ask: What?\n# answer: {expression}\n", program)
    [asked] = own_questions(lesson, run_lesson(lesson).trace).values()
    return str(asked) if isinstance(asked, QuestionError) else asked.right.text


def found(folder: Path, questions: str) -> list[Problem]:
    return list(problems(written(folder, questions)))
