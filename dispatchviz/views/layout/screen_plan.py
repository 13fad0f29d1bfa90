"""The plan of a screen: the rows of its bars and the box of every widget, computed from its contents and size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from dispatchviz.core.record.events import SourceLine
from dispatchviz.explain.predictions.prediction import Prediction
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.keymap import QUITS, Leaving
from dispatchviz.views.layout.least_size import is_too_small, too_small
from dispatchviz.views.layout.needed_panes import TITLES_FROM, Shown, chosen, order
from dispatchviz.views.layout.pane_choice import NO_CHOICE, PaneChoice
from dispatchviz.views.layout.pane_layout import STEPS, Box, Frame, arrange, why_height
from dispatchviz.views.layout.presenter_plan import (
    MARGIN,
    TALL,
    presenter_boxes,
    presenter_header,
    second_pane,
    sentence_box,
    text_width,
)
from dispatchviz.views.lesson_rows import Said
from dispatchviz.views.panes.ahead import WHERE, is_empty_for_good, looks_ahead, says_nothing
from dispatchviz.views.predictions.question_rows import large_answer, question_frame, question_note
from dispatchviz.views.screen_bars import (
    MOST_OF_REASON,
    first_notes,
    footer_row,
    header_rows,
    needed_rows,
    opening_text,
    position,
    why_rows,
)
from dispatchviz.views.text.marked_terms import with_first_terms
from dispatchviz.views.text.styled_line import Line, line

NOTHING_SAID = Said()


@dataclass(frozen=True)
class ScreenPlan:
    """The contents of a screen of one size, with the boxes of its widgets."""

    bars: Mapping[str, Sequence[Line]]
    """The rows of the visible bars among ``header``, ``why`` and ``footer``."""
    panes: Mapping[int, Box]
    """The visible panes, by number."""
    boxes: Mapping[str, Box]
    """The boxes of all widgets by id, including the bars and the ``prompt``."""
    presenting: bool = False
    """True in presenter mode, where names are short."""


@dataclass(frozen=True)
class Scene:
    """The contents of the screen, independent of its size."""

    cursor: Cursor
    opened_at: int
    """The step at which the stepper opened. Until there is a note, the bar explains the stepper there."""
    note: Line | None = None
    choice: PaneChoice = NO_CHOICE
    asks: Prediction | None = None
    """The open question about the next outcome, which covers the footer."""
    label: str = ""
    """The label of the question in the bottom row, which replaces the footer; empty without a question."""
    leaving: Leaving = QUITS
    """The place that the quit key leads to."""
    lesson: Said = NOTHING_SAID
    """The text of a lesson at this step."""
    _plans: dict[tuple[int, int], ScreenPlan] = field(init=False, default_factory=dict, repr=False, compare=False)

    def plan(self, width: int, height: int) -> ScreenPlan:
        """The plan for a size, which is cached."""
        if (width, height) not in self._plans:
            self._plans[width, height] = self._make(width, height)
        return self._plans[width, height]

    def _make(self, width: int, height: int) -> ScreenPlan:
        if is_too_small(width, height):
            return ScreenPlan({"header": too_small(width, height)}, {}, {"header": Box(0, 0, width, height)})
        if self.asks is not None:
            return self._asking(self.asks, width, height)
        if self.choice.presenting:
            return self._presenting(width, height)
        cursor = self.cursor
        header = header_rows(cursor, width, MOST_OF_REASON if self._is_opening else 1)
        most = why_height(height, height)
        needed = needed_rows(cursor, self._notes(), width, self._omits_sentence, most)
        frame = Frame(header=len(header), why=why_height(height, len(needed)))
        shown = self._chosen(width, height, frame)
        panes = arrange(width, height, shown.panes, frame, self.choice.zoomed, shown.shrunk)
        keys = footer_row(width, bool(cursor.breakpoints or self.lesson.rows), self.leaving, bool(cursor.playing))
        footer = line((self.label, "keycap")) if self.label else keys
        why = why_rows(cursor, needed, width, frame.why, self.lesson.alone)
        bars = {"header": header, "why": with_first_terms(cursor.trace, why), "footer": [footer]}
        around = _boxes_around(width, height, frame, len(self.label))
        return ScreenPlan(bars, panes, {f"pane{number}": box for number, box in panes.items()} | around)

    def _asking(self, asked: Prediction, width: int, height: int) -> ScreenPlan:
        """The plan with only the steps above an open question."""
        presenting = self.choice.presenting
        header = [self._presenter_header(width)] if presenting else header_rows(self.cursor, width)
        margin = MARGIN if presenting else 0
        frame = question_frame(asked, width - 2 * margin, height, len(header), presenting)
        panes = {number: box._replace(x=margin, width=width - 2 * margin)
                 for number, box in arrange(width, height, (), frame, STEPS).items()}  # fmt: skip
        bars = {"header": header, "why": [question_note()], "footer": [line()]}
        boxes = {f"pane{number}": box for number, box in panes.items()}
        around = _boxes_around(width, height, frame, 0)
        around["why"] = around["why"]._replace(x=margin, width=width - 2 * margin)
        return ScreenPlan(bars, panes, boxes | around, presenting=presenting)

    def _presenting(self, width: int, height: int) -> ScreenPlan:
        """The plan in presenter mode: the sentence and two panes."""
        cursor = self.cursor
        header = [self._presenter_header(width)]
        sentence = self._presented_sentence(width, height)
        panes = [self.choice.zoomed] if self.choice.zoomed else [STEPS, self._second]
        placed = presenter_boxes(width, height, len(header), len(sentence), panes)
        boxes = {f"pane{number}": box for number, box in placed.items()}
        boxes |= {"header": Box(0, 0, width, 1), "why": sentence_box(width, 1, len(sentence))}
        boxes["prompt"] = Box(len(self.label), height - 1, width - len(self.label), 1)
        bars = {"header": header, "why": with_first_terms(cursor.trace, sentence)}
        if self.label:
            bars["footer"], boxes["footer"] = [line((self.label, "keycap"))], Box(0, height - 1, len(self.label), 1)
        return ScreenPlan(bars, placed, boxes, presenting=True)

    def _presenter_header(self, width: int) -> Line:
        return presenter_header(self.cursor.trace, position(self.cursor), width)

    def _presented_sentence(self, width: int, height: int) -> list[Line]:
        """The rows above the panes in presenter mode: an answer, the text of a lesson, the sentence of the step."""
        room, most = text_width(width), max(height // 3, 1)
        note = [] if self.note is None else large_answer(self.note, room, height >= TALL)
        is_verdict = len(note) > 1
        notes = [*note, *self.lesson.rows] if is_verdict else [*self.lesson.rows, *note]
        rows = needed_rows(self.cursor, notes, room, self.lesson.alone or is_verdict)
        return rows if len(rows) <= most else why_rows(self.cursor, rows, room, most)

    @property
    def _second(self) -> int:
        trace, at = self.cursor.trace, self.cursor.at
        wanted = order(trace[at], self.choice.own(trace[at]), self._ahead)
        return second_pane(wanted, self._says_nothing)

    @cached_property
    def _ahead(self) -> list[int]:
        """The panes that look ahead within the row of the cursor."""
        return [pane for pane in WHERE if looks_ahead(pane, self.cursor)]

    def _says_nothing(self, pane: int) -> bool:
        return pane not in self._ahead and says_nothing(pane, self.cursor)

    def _chosen(self, width: int, height: int, frame: Frame) -> Shown:
        """The panes that the step needs and those that the reader chose, as far as they fit."""
        trace, at = self.cursor.trace, self.cursor.at
        own = self.choice.own(trace[at])
        rows = height - sum(frame)
        wanted = order(trace[at], own, self._ahead if rows >= TITLES_FROM else ())
        for_good = partial(is_empty_for_good, cursor=self.cursor)
        return chosen(wanted, width, height, frame, self._says_nothing, own, for_good)

    @property
    def _is_opening(self) -> bool:
        """True if the reader has not moved yet, or has undone all moves. A sub-step of the key set is a move."""
        return self.note is None and self.cursor.at == self.opened_at and self.cursor.stage is None

    @property
    def _omits_sentence(self) -> bool:
        """True if the sentence of the step is left out: at a line that is reached, or where a lesson is not about a
        step.
        """
        if self.lesson.alone or not self._is_opening:
            return self.lesson.alone
        trace, at = self.cursor.trace, self.cursor.at
        is_told = not self.lesson.rows and self.cursor.ahead is None and opening_text(trace, at) is not None
        return is_told or isinstance(trace[at], SourceLine)

    def _notes(self) -> list[Line]:
        if self.lesson.rows:
            return [*([] if self.note is None else [self.note]), *self.lesson.rows]
        if self._is_opening and self.cursor.ahead is None:
            return first_notes(self.cursor.trace, self.cursor.at)
        return [] if self.note is None else [self.note]


def _boxes_around(width: int, height: int, frame: Frame, label: int) -> dict[str, Box]:
    """The boxes of the bars. A label of ``label`` cells leaves the rest of its row to the prompt."""
    bottom = height - frame.footer
    return {
        "header": Box(0, 0, width, frame.header),
        "why": Box(0, frame.header, width, frame.why),
        "footer": Box(0, bottom, label or width, frame.footer),
        "prompt": Box(label, bottom, width - label, frame.footer),
    }
