"""A question before its answer is shown. The reader makes a choice, with the steps visible above it."""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from dispatchviz.explain.predictions.prediction import LONGEST, Choice, Prediction
from dispatchviz.tui.commands.predicting import along, answered, stopped
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.rows_view import RowsView
from dispatchviz.views.keymap import key_of
from dispatchviz.views.layout.presenter_plan import MARGIN
from dispatchviz.views.predictions.question_rows import fitted_question, question_height, question_room
from dispatchviz.views.replies import answers_at_next
from dispatchviz.views.screen_bars import header_rows
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import Line, line

GOES_ON = "move('resume')"
"""The action whose key skips an open question."""

FORTH, BACK = "app.page(1)", "app.page(-1)"
"""The actions of a clicker's two keys."""


class PredictionView(RowsView):
    """The view of the question, the known facts and the choices, one of them highlighted."""

    BINDINGS: ClassVar = [
        Binding("down,n,j", "light(1)", show=False),
        Binding("up,N,k", "light(-1)", show=False),
        Binding("enter", "answer", show=False),
        *(Binding(str(number), f"answer({number})", show=False) for number in range(1, 6)),
    ]

    def __init__(self, asked: Prediction, palette: Palette, presenting: bool) -> None:
        super().__init__(0, self.title_for(asked, presenting))
        self.asked, self.palette, self._presenting = asked, palette, presenting
        self._rows: list[Line] = []
        self._lit = 0

    def title_for(self, asked: Prediction, presenting: bool) -> str:
        """The title, with the keys that answer."""
        if presenting:
            return f"Predict (1-{len(asked.choices)} answers, {key_of(FORTH).first} twice shows the answer)"
        skip, stop = key_of(GOES_ON).first, key_of("predict").first
        keys = f"1-{len(asked.choices)} answers, or ↑ ↓ and Enter; Esc or {skip} skips, {stop} ends predict mode"
        return f"Predict ({keys})"

    def fitted(self) -> None:
        self._rows = fitted_question(self.asked, self.port.row_width - 2, self.port.height, self._presenting)
        self.port.count = len(self._rows)
        self.reveal(self._row_of(self._lit), 1)
        self.refresh()

    def row(self, at: int, width: int) -> Line:
        row = self._rows[at]
        sign = "▶" if self._choice_at(at) == self._lit else " "
        return line((sign, "focus"), *row.spans)

    def row_base(self, at: int) -> Style:
        lit = self._choice_at(at) == self._lit
        return self.palette.base + self.palette.highlight if lit else self.palette.base

    def pointed_at(self, at: int) -> None:
        if (choice := self._choice_at(at)) is not None:
            self.action_answer(choice + 1)

    def action_light(self, by: int) -> None:
        self._lit = (self._lit + by) % len(self.asked.choices)
        self.reveal(self._row_of(self._lit), 1)
        self.refresh()

    def action_answer(self, number: int = 0) -> None:
        choices = self.asked.choices
        if number <= len(choices) and isinstance(self.screen, PredictionScreen):
            self.screen.answer(choices[(number or self._lit + 1) - 1], by_number=number > 0)

    def _choice_at(self, at: int) -> int | None:
        key = self._rows[at].key if at < len(self._rows) else ""
        return int(key) - 1 if key else None

    def _row_of(self, choice: int) -> int:
        return next(at for at in range(len(self._rows)) if self._choice_at(at) == choice)


class TypedView(PredictionView):
    """The view of a question without choices. Keys are text, so only Esc skips."""

    BINDINGS: ClassVar = [Binding("enter", "answer", show=False), Binding("escape", "screen.skip", show=False)]

    def __init__(self, asked: Prediction, palette: Palette, presenting: bool) -> None:
        super().__init__(asked, palette, presenting)
        self._text = ""

    def title_for(self, asked: Prediction, presenting: bool) -> str:
        if presenting:
            return f"Predict (type the answer, Enter checks it; {key_of(FORTH).first} twice shows it)"
        return "Predict (type the answer, Enter checks it; Esc skips)"

    def row(self, at: int, width: int) -> Line:
        row = super().row(at, width)
        return line(*row.spans, (self._text, "bold"), ("▏", "focus")) if self._choice_at(at) is not None else row

    def on_key(self, event: events.Key) -> None:
        if event.key == "backspace":
            self._typed(self._text[:-1])
        elif event.is_printable and event.character:
            self._typed(self._text + event.character)
        else:
            return
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        self._typed(self._text + event.text.split("\n")[0])
        event.stop()

    def pointed_at(self, at: int) -> None:
        """Do nothing: a click is no answer."""

    def action_answer(self, number: int = 0) -> None:
        choice = self.asked.chosen(self._text.strip())
        if choice is not None and isinstance(self.screen, PredictionScreen):
            self.screen.answer(choice)

    def _typed(self, text: str) -> None:
        self._text = text[:LONGEST]
        self.refresh()


class PredictionScreen(ModalScreen[Update | None]):
    """The screen with the question. It closes with the step that shows the answer, or ends predict mode."""

    BINDINGS: ClassVar = [
        Binding(",".join(("escape", "q", *key_of(GOES_ON).keys)), "skip", show=False),
        Binding(",".join(key_of("predict").keys), "stop", show=False),
        Binding(",".join(key_of(FORTH).keys), "reveal", show=False),
        Binding(",".join(key_of(BACK).keys), "back", show=False),
    ]
    DEFAULT_CSS = (
        "PredictionScreen { align: center bottom; background: transparent; } PredictionView { width: 100%; height: 1; }"
    )

    def __init__(self, session: Session, asked: Prediction, palette: Palette, presenting: bool = False) -> None:
        """Create the screen; ``presenting`` is true in presenter mode."""
        super().__init__()
        self._session, self._asked, self._presenting = session, asked, presenting
        self._view = (PredictionView if asked.choices else TypedView)(asked, palette, presenting)
        self._is_armed = False
        """True if the next press of a clicker reveals the answer."""

    def compose(self) -> ComposeResult:
        self._fit()
        yield self._view

    def on_resize(self, event: events.Resize) -> None:
        self._fit()

    def answer(self, choice: Choice | None, by_number: bool = False) -> None:
        """Close with a choice, or with None for a skip."""
        self._session.enter_is_due = by_number
        self.dismiss(answered(self._session, self._asked, choice))

    def action_skip(self) -> None:
        self.answer(None)

    def action_stop(self) -> None:
        self.dismiss(stopped(self._session))

    def action_reveal(self) -> None:
        """Show the answer at the second press, so that one press too many of a clicker spoils nothing."""
        if self._is_armed:
            self.answer(None)
            return
        self._is_armed = True
        self._view.title = f"Predict: {answers_at_next()}"
        self._view.refresh_title()

    def action_back(self) -> None:
        """Leave the question unanswered. In a lesson, go back to the place before it."""
        session = self._session
        self.dismiss(Update(session.cursor) if session.guide is None else along(session, session.guide, False))

    def _fit(self) -> None:
        width, height = self.app.size
        header = 1 if self._presenting else len(header_rows(self._session.cursor, width))
        if self._presenting:
            width -= 2 * MARGIN
        rows = question_height(self._asked, width, question_room(height, header), self._presenting)
        self._view.styles.width, self._view.styles.height = width, rows
        self._view.fit(width, rows)
