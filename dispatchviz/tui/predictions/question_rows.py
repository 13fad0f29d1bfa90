"""A question and its verdict as rows of text."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.prediction import Choice, Prediction
from dispatchviz.tui.text.line_fitting import wrap
from dispatchviz.tui.text.styled_line import Line, line

RIGHT, WRONG = ("✓", "good"), ("✗", "error")


def question_rows(asked: Prediction, width: int) -> list[Line]:
    """What is asked and what is known; each choice in a row with its number as the key of the row."""
    head = [line(" ", (asked.question, "bold"), indent=1)]
    known = [line("   ", (text, "dim"), indent=3) for text in asked.known]
    choices = [line(f"   {n}  ", (choice.text, ""), key=str(n), cut=True) for n, choice in enumerate(asked.choices, 1)]
    blank = [line()] if known else []
    return [part for row in (*head, *known, *blank, *choices) for part in wrap(row, max(width, 1))]


def verdict(asked: Prediction, choice: Choice) -> Line:
    """What was said beside what is so."""
    return line(" ", *_verdict(asked, choice))


def _verdict(asked: Prediction, choice: Choice) -> Iterator[tuple[str, str]]:
    if choice == asked.right:
        yield from (RIGHT, (f" Right: {choice.text}. ", "good"), (asked.right.why, ""))
        return
    yield from (WRONG, (f" You said {choice.text}. ", "warning"))
    if choice.why != asked.right.why and asked.right.why not in choice.why:
        yield (f"{choice.why} ", "")
    yield (f"It was {asked.right.text}. ", "good")
    yield (asked.right.why, "")


def unanswered(asked: Prediction) -> Line:
    """The answer to a question that was skipped."""
    return line((" It was ", "hint"), (f"{asked.right.text}. ", "good"), asked.right.why)


def guess_row(trace: Trace, asked: Prediction, choice: Choice) -> Line:
    """A guess in the list of all: the step, whether it was right, what was asked and said, and what was so."""
    right = choice == asked.right
    truth = "" if right else f" · it was {asked.right.text}"
    number = f"{asked.reveals:>{len(str(len(trace) - 1))}} "
    return line((number, "dim"), RIGHT if right else WRONG, f" {asked.question} ", (choice.text, "bold"), truth)
