"""A question and its verdict as rows of text, and the space on the screen for an open question."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace
from rich.cells import cell_len, set_cell_size

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

ANSWER = "answer"
"""The role of the right answer in a verdict, which presenter mode shows large."""


def question_rows(asked: Prediction, width: int, spaced: bool = False) -> list[Line]:
    """The rows of a question: the question, the known facts, and one row for each choice with its number as the key.
    The last row of a question without choices is for the answer that the reader types.

    ``spaced`` puts an empty row before each choice, so that an audience can read them.
    """
    head = [line(" ", *prose_spans(asked.question, "bold"), indent=1)]
    known = [line("   ", (text, "dim"), indent=3) for text in asked.known]
    choices = [
        line(f"   {n}  ", *prose_spans(choice.text), key=str(n), cut=True) for n, choice in enumerate(asked.choices, 1)
    ]
    choices = choices or [line(TYPED, key="1", cut=True)]
    if spaced:
        choices = [row for choice in choices for row in (line(), choice)]
    blank = [line()] if known and not spaced else []
    return [part for row in (*head, *known, *blank, *choices) for part in wrap(row, max(width, 1))]


def verdict(trace: Trace, asked: Prediction, choice: Choice | None) -> Line:
    """The note on the step that shows the answer: the guess, if there was one, and the right answer."""
    return line(" ", *_verdict(asked, choice), *prose_spans(_reason(trace, asked)))


def _verdict(asked: Prediction, choice: Choice | None) -> Iterator[Span]:
    if choice == asked.right:
        yield from (RIGHT, (" Right: ", "good"), (without_backticks(asked.right.text), ANSWER), (". ", "good"))
        return
    if choice is not None:
        yield from (WRONG, (f" Your guess: {without_backticks(choice.text)}. ", "warning"))
        why = choice.why.replace(asked.right.why, "").strip()
        yield from prose_spans(f"{why} " if why else "")
    yield from (("The answer: ", "good"), (without_backticks(asked.right.text), ANSWER), (". ", "good"))


def _reason(trace: Trace, asked: Prediction) -> str:
    """The reason for the right answer, unless the sentence of the step contains it."""
    return "" if asked.right.why in why_here(trace, asked.reveals) else asked.right.why


def large_answer(note: Line, width: int, tall: bool) -> list[Line]:
    """A verdict with its answer in a band, which is three rows high if ``tall``, and the rest below it. Another note
    stays as it is.
    """
    at = next((at for at, (_, role) in enumerate(note.spans) if role == ANSWER), None)
    if at is None:
        return [note]
    begin = at - 2 if note.spans[at - 2] == RIGHT else at - 1
    answer = line(*note.spans[begin : at + 1]).plain.strip()
    band = [f"   {row.plain}" for row in wrap(line(answer), width - 7)]
    wide = max(map(cell_len, band)) + 3
    rows = ["", *band, ""] if tall else band
    rest = (*note.spans[:begin], *note.spans[at + 2 :])
    return [*(line(" ", (set_cell_size(row, wide), "large")) for row in rows), line(), replace(note, spans=rest)]


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


def fitted_question(asked: Prediction, width: int, room: int, presenting: bool) -> list[Line]:
    """The rows of a question in ``room`` rows. In presenter mode they have empty rows between them if those fit."""
    spaced = question_rows(asked, width, presenting)
    return spaced if not presenting or len(spaced) <= room - AROUND else question_rows(asked, width)


AROUND = 2
"""The title above a question, and the empty row below it."""


def question_room(height: int, header: int) -> int:
    """The rows that a question may take."""
    return max(height - header - NOTE - LEAST_STEPS, 1)


def question_height(asked: Prediction, width: int, room: int, presenting: bool = False) -> int:
    """The rows of a question with its title and an empty row, as far as they fit."""
    return min(len(fitted_question(asked, width - 3, room, presenting)) + AROUND, room)


def question_frame(asked: Prediction, width: int, height: int, header: int, presenting: bool = False) -> Frame:
    """The bars around the steps: one row for the note, and the question in place of the footer."""
    rows = question_height(asked, width, question_room(height, header), presenting)
    return Frame(header=header, why=NOTE, footer=rows)


def question_note() -> Line:
    """The note above the steps."""
    return line((" Answer to see what happens next.", "hint"))
