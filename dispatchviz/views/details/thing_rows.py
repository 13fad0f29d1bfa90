"""The rows of the questions about a tensor or Node: each question, and its answers with step, line and source text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from rich.cells import cell_len

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.things.answer import Answer, Question
from dispatchviz.explain.things.tensor_questions import title
from dispatchviz.explain.things.thing import NodeThing, TensorThing
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text
from dispatchviz.foundation.english import shortened
from dispatchviz.foundation.shown_text import shown
from dispatchviz.views.text.styled_line import Line, line

LONGEST = 60
"""The maximum width of an answer for which its place is shown in a column."""


def question_rows(trace: Trace, questions: Sequence[Question], width: int) -> list[Line]:
    """The rows of the questions, each under its heading."""
    answers = [cell_len(shown(answer.text)) for question in questions for answer in question.answers]
    column = min(max(answers, default=0), LONGEST, max(width, 0) * 3 // 5)
    return [row for question in questions for row in _question(trace, question, column)]


def _question(trace: Trace, question: Question, column: int) -> Iterator[Line]:
    more = f"  and {question.more:,} more, farther from this step" if question.more else ""
    none = "" if question.answers else f"  {question.none}"
    yield line((question.asked, "title"), (f"{none}{more}", "dim"), cut=True)
    for answer in question.answers:
        yield _answer(trace, answer, column)


@lru_cache(maxsize=1024)
def _answer(trace: Trace, answer: Answer, column: int) -> Line:
    at = () if answer.seq is None else ((f"  step {answer.seq:<{len(str(len(trace)))}}", "dim"),)
    blanks = " " * max(column - cell_len(shown(answer.text)), 0)
    return line(
        f"  {answer.text}{blanks}",
        *at,
        (_place(trace, answer.seq), "name"),
        goto=answer.seq,
        about=answer.thing,
        cut=True,
    )


def _place(trace: Trace, seq: int | None) -> str:
    """``line 6  z = torch.add(x, y)``; empty if no line is known."""
    found = None if seq is None else source_line(trace, seq)
    return "" if found is None else f"  line {found.line}  {shortened(source_text(trace, found), LONGEST)}"


def other_rows(trace: Trace, things: Sequence[TensorThing | NodeThing], at: int) -> list[Line]:
    """The rows of the other tensors and Nodes at a step."""
    if not things:
        return []
    asked = [line(f"  {title(trace, thing, at)}", about=thing, cut=True) for thing in things]
    return [line(("What else is here?", "title"), cut=True), *asked]
