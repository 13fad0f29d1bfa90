"""A question and its verdict as rows of text, and the space on the screen for an open question."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.explain.predictions.prediction import Choice, Prediction
from dispatchviz.views.layout.pane_layout import Frame
from dispatchviz.views.text.line_fitting import wrap
from dispatchviz.views.text.prose import prose_spans, without_backticks
from dispatchviz.views.text.styled_line import Line, Span, line

TYPED = "   > "
"""The text before a typed answer."""

RIGHT, WRONG = ("✓", "good"), ("✗", "error")


def question_rows(asked: Prediction, width: int) -> list[Line]:
    """The rows of a question: the question, the known facts, and one row for each choice with its number as the key.
    The last row of a question without choices is for the answer that the reader types.
    """
    head = [line(" ", *prose_spans(asked.question, "bold"), indent=1)]
    known = [line("   ", (text, "dim"), indent=3) for text in asked.known]
    choices = [
        line(f"   {n}  ", *prose_spans(choice.text), key=str(n), cut=True) for n, choice in enumerate(asked.choices, 1)
    ]
    choices = choices or [line(TYPED, key="1", cut=True)]
    blank = [line()] if known else []
    return [part for row in (*head, *known, *blank, *choices) for part in wrap(row, max(width, 1))]


def verdict(trace: Trace, asked: Prediction, choice: Choice | None) -> Line:
    """The note on the step that shows the answer: the guess, if there was one, and the right answer."""
    return line(" ", *_verdict(asked, choice), *prose_spans(_reason(trace, asked)))


def _verdict(asked: Prediction, choice: Choice | None) -> Iterator[Span]:
    if choice == asked.right:
        yield from (RIGHT, (f" Right: {without_backticks(asked.right.text)}. ", "good"))
        return
    if choice is not None:
        yield from (WRONG, (f" Your guess: {without_backticks(choice.text)}. ", "warning"))
        why = choice.why.replace(asked.right.why, "").strip()
        yield from prose_spans(f"{why} " if why else "")
    yield (f"The answer is {without_backticks(asked.right.text)}. ", "good")


def _reason(trace: Trace, asked: Prediction) -> str:
    """The reason for the right answer, unless the sentence of the step contains it."""
    return "" if asked.right.why in why_here(trace, asked.reveals) else asked.right.why


def guess_row(trace: Trace, asked: Prediction, choice: Choice) -> Line:
    """A guess in the list of all guesses: the step, whether it was right, the question, the guess and the answer."""
    right = choice == asked.right
    truth = "" if right else f" · answer: {without_backticks(asked.right.text)}"
    number = f"{asked.reveals:>{len(str(len(trace) - 1))}} "
    said = (RIGHT if right else WRONG, (f" {without_backticks(choice.text)}", "bold"), truth)
    return line((number, "dim"), *said, (f"   {without_backticks(asked.question)}", "dim"), goto=asked.reveals)


NOTE = 1
"""The rows for the note above the steps."""

LEAST_STEPS = 5
"""The minimum number of rows of the step list that stay visible, including its title."""


def question_height(asked: Prediction, width: int, height: int, header: int) -> int:
    """The rows of a question with its title and an empty row, as far as they fit."""
    wanted = len(question_rows(asked, width - 3)) + 2
    return max(min(wanted, height - header - NOTE - LEAST_STEPS), 1)


def question_frame(asked: Prediction, width: int, height: int, header: int) -> Frame:
    """The bars around the steps: one row for the note, and the question in place of the footer."""
    return Frame(header=header, why=NOTE, footer=question_height(asked, width, height, header))


def question_note() -> Line:
    """The note above the steps."""
    return line((" Answer to see what happens next.", "hint"))
