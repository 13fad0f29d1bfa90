"""The screen while a question is open: the steps alone, and below them the room for the question."""

from __future__ import annotations

from dispatchviz.explain.predictions.prediction import Prediction
from dispatchviz.views.layout.pane_layout import Frame
from dispatchviz.views.predictions.question_rows import question_rows
from dispatchviz.views.text.styled_line import Line, line

NOTE = 1
"""Rows that say what comes."""

LEAST_STEPS = 5
"""Rows of the steps, with their title, that stay in sight."""


def question_height(asked: Prediction, width: int, height: int, header: int) -> int:
    """The rows of a question with its title and an empty one below, as far as there is room."""
    wanted = len(question_rows(asked, width - 3)) + 2
    return max(min(wanted, height - header - NOTE - LEAST_STEPS), 1)


def question_frame(asked: Prediction, width: int, height: int, header: int) -> Frame:
    """The bars around the steps: one row says what comes, the question is where the footer was."""
    return Frame(header=header, why=NOTE, footer=question_height(asked, width, height, header))


def question_note() -> Line:
    """The row above the steps."""
    return line((" What follows is shown when you have answered.", "hint"))
