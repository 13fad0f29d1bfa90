"""The state of one stepper apart from its screen: the trace, the cursor in it, the marks and the search.

A command and an answered question return an ``Update``, which the application stores and shows. This module is
independent of Textual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.followed_file import FollowedFile
from dispatchviz.explain.diagnosis.mistakes import mistakes
from dispatchviz.explain.outline.levels import DEFAULT
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.explain.predictions.prediction import Prediction
from dispatchviz.explain.sentences.statement import number_of_steps
from dispatchviz.views.cursor.breakpoints.breakpoint import carry_over
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.cursor.kept_texts import Marks
from dispatchviz.views.cursor.opening import opening_step
from dispatchviz.views.cursor.step_search import Search, still_hits
from dispatchviz.views.keymap import QUITS, Leaving, key_of
from dispatchviz.views.layout.pane_layout import STEPS
from dispatchviz.views.predictions.asking import Asking
from dispatchviz.views.predictions.lesson_asking import LessonAsking
from dispatchviz.views.text.styled_line import Line, line

if TYPE_CHECKING:
    from dispatchviz.lessons.guide import Guide  # not needed for the first paint

FOLLOWING = line((" At the end of the recording so far, and following it until the next move", "hint"))


class Update(Struct, frozen=True):
    """The result of a command."""

    cursor: Cursor
    note: Line | None = None
    """A note about the result, shown until the next command."""
    clipboard: str = ""
    """The text to copy."""
    asks: Prediction | None = None
    """The question to ask once this is on the screen."""
    then: Callable[[], Update] | None = None
    """The function to call once this is on the screen."""
    goes_on: Callable[[], Update] | None = None
    """The next slice of unfinished work, which takes a few milliseconds. It is dropped as soon as there is something
    else to show.
    """
    later: Callable[[], Line] | None = None
    """A function to run in the background; its line is shown when it finishes."""
    opens: Callable[[OpenStepper], None] | None = None
    """A function that opens another screen, which has the terminal until the stepper returns. Its argument is a
    function that opens a stepper on other traces.
    """


OpenStepper = Callable[..., None]
"""``tui.app.show``."""


class Session:
    """The session of one reader with one trace, which has at least one event."""

    def __init__(
        self,
        trace: Trace,
        step: int | None = None,
        file: str = "",
        run_arguments: Sequence[str] | None = None,
        followed: FollowedFile | None = None,
        level: int = DEFAULT,
        leaving: Leaving = QUITS,
        guide: Guide | None = None,
    ) -> None:
        self.guide = guide
        """The lesson in progress; None without one."""
        self.leaving = leaving
        """The place that the quit key leads to."""
        self.tempo = 1.0
        """The tempo of playing, as a multiple of the normal one."""
        self.followed = followed
        """The file from which a growing trace is read; None for a complete trace."""
        self.file = file
        """The file of the trace; empty if there is none."""
        self.run_arguments = [trace.header.program] if run_arguments is None else run_arguments
        """The arguments of ``dispatchviz run`` that run the program again; empty if nothing does. By default, the
        program's file.
        """
        self.marks = Marks(trace, "" if followed else file)  # the file gets another name when the recording ends
        self.asking = (
            Asking("" if followed else file) if guide is None else LessonAsking(guide.questions, guide.answers)
        )
        self.search = Search(trace)
        self.cursor = self._first_cursor(Outline(trace, level), step)
        self._chooses_step = step is None and guide is None and followed is None
        self.enter_is_due = False
        """True after a number answered a question: an Enter right after it belongs to the answer and does not move."""
        self.focused_pane = STEPS
        """The number of the pane with the focus. In the key-set pane, the step keys walk through the card."""
        self.is_drawing = False
        """True while a picture is drawn in the background."""

    @property
    def trace(self) -> Trace:
        """The trace that the cursor is in."""
        return self.cursor.trace

    def at_first_mistake(self) -> Cursor:
        """The cursor after the search for silent mistakes: the first one may be more important than the current
        step.
        """
        if self.followed is None and self.guide is None:
            mistakes(self.trace)
        if self._chooses_step and self.cursor.outline is not None:
            self.cursor = replace(self.cursor, at=opening_step(self.cursor.outline))
        return self.cursor

    def search_until(self, end: int) -> None:
        """Search only the steps before ``end``. The others are hidden until a question is answered."""
        if end != self.search.end:
            query, self.search = self.search.query, Search(self.trace, end)
            self.search.find(query, self.cursor.at)

    def grown(self, trace: Trace) -> Update:
        """Move the cursor into a longer version of the trace, with a note if the recording has ended."""
        going_on = self.followed is not None and not self.followed.over
        level = self.cursor.outline.level if self.cursor.outline else DEFAULT
        outline = Outline(trace, level)
        carry_over(self.cursor.breakpoints, self.trace, trace)
        after = self.cursor.grown(outline, *_still_shown(self.cursor, outline), is_growing=going_on)
        query, self.search = self.search.query, Search(trace)
        self.search.find(query, after.at)
        after = replace(after, search=self.search)
        if going_on:
            return Update(after, FOLLOWING if after.follows else None)
        key = key_of("jump('last')").first
        end = f"; {key} goes to its end" if after.at != after.last_step else ""
        return Update(after, line((f" The recording ended after {number_of_steps(len(trace))}{end}", "hint")))

    def _first_cursor(self, outline: Outline, step: int | None) -> Cursor:
        """The cursor at ``step`` or the nearest existing step; without ``step``, at the most important one."""
        begin = opening_step(outline) if step is None else step
        return Cursor(
            outline.trace,
            max(0, min(begin, len(outline.trace) - 1)),
            marks=frozenset(self.marks.names),
            shown=outline.steps,
            outline=outline,
            is_growing=self.followed is not None and not self.followed.over,
            search=self.search,
        )


def _still_shown(cursor: Cursor, outline: Outline) -> tuple[Sequence[int], str]:
    """The steps that the cursor's filter shows in a longer version of the trace."""
    if cursor.shown is None or not cursor.filter_text:
        return outline.steps, ""
    return still_hits(outline.trace, cursor.filter_text, cursor.shown, len(cursor.trace)), cursor.filter_text
