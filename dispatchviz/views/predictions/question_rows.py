"""A question and its verdict as rows of text."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.prediction import Choice, Prediction
from dispatchviz.explain.sentences.step_sentences import why_here
from dispatchviz.views.text.line_fitting import wrap
from dispatchviz.views.text.styled_line import Line, Span, line

RIGHT, WRONG = ("✓", "good"), ("✗", "error")


def question_rows(asked: Prediction, width: int) -> list[Line]:
    """What is asked and what is known; each choice in a row with its number as the key of the row."""
    head = [line(" ", (asked.question, "bold"), indent=1)]
    known = [line("   ", (text, "dim"), indent=3) for text in asked.known]
    choices = [line(f"   {n}  ", (choice.text, ""), key=str(n), cut=True) for n, choice in enumerate(asked.choices, 1)]
    blank = [line()] if known else []
    return [part for row in (*head, *known, *blank, *choices) for part in wrap(row, max(width, 1))]


def verdict(trace: Trace, asked: Prediction, choice: Choice | None) -> Line:
    """What was said, if anything was, beside what is so: a note on the step that tells the answer."""
    return line(" ", *_verdict(asked, choice), _reason(trace, asked))


def _verdict(asked: Prediction, choice: Choice | None) -> Iterator[Span]:
    if choice == asked.right:
        yield from (RIGHT, (f" Right: {asked.right.text}. ", "good"))
        return
    if choice is not None:
        yield from (WRONG, (f" You said {choice.text}. ", "warning"))
        why = choice.why.replace(asked.right.why, "").strip()
        yield (f"{why} " if why else "", "")
    yield (f"It was {asked.right.text}. ", "good")


def _reason(trace: Trace, asked: Prediction) -> str:
    """Why that is right, unless the sentence of the step says it."""
    return "" if asked.right.why in why_here(trace, asked.reveals) else asked.right.why


def guess_row(trace: Trace, asked: Prediction, choice: Choice) -> Line:
    """A guess in the list of all: the step, whether it was right, what was asked and said, and what was so."""
    right = choice == asked.right
    truth = "" if right else f" · it was {asked.right.text}"
    number = f"{asked.reveals:>{len(str(len(trace) - 1))}} "
    said = (RIGHT if right else WRONG, (f" {choice.text}", "bold"), truth)
    return line((number, "dim"), *said, (f"   {asked.question}", "dim"), goto=asked.reveals)
