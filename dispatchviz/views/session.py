"""The state of one stepper apart from its screen: the trace, the cursor in it, the marks, the search.

A command and an answered question return an ``Update``; the application stores and shows it. Knows no Textual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

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
    from dispatchviz.lessons.guide import Guide  # not for the first paint

FOLLOWING = line((" At the end of the recording so far, and following it until the next move", "hint"))


@dataclass(frozen=True)
class Update:
    """What a command changes."""

    cursor: Cursor
    note: Line | None = None
    """One remark about it, shown until the next command."""
    clipboard: str = ""
    """Text to copy."""
    asks: Prediction | None = None
    """What the reader is asked as soon as this is on the screen."""
    then: Callable[[], Update] | None = None
    """What follows as soon as this is on the screen."""
    goes_on: Callable[[], Update] | None = None
    """The next slice of work that is not done yet, a few milliseconds of it; dropped as soon as there is something else
    to show."""
    later: Callable[[], Line] | None = None
    """What is done in the background while the reader goes on; the line that it gives is shown when it is done."""
    opens: Callable[[OpenStepper], None] | None = None
    """Opens another screen, which has the terminal before the stepper is there again. It gets a function that opens a
    stepper on other traces."""


OpenStepper = Callable[..., None]
"""``tui.app.show``."""


class Session:
    """One reader of one trace, which has at least one event."""

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
        """The lesson that the reader is in; None without one."""
        self.leaving = leaving
        """Where the key leads that closes the stepper."""
        self.tempo = 1.0
        """How many times as fast as one reads it is played."""
        self.followed = followed
        """The file that the trace is read from while it is recorded; None of a trace that is complete."""
        self.file = file
        """The file that the trace is kept in; empty if there is none."""
        self.run_arguments = [trace.header.program] if run_arguments is None else run_arguments
        """What runs the program again, after ``dispatchviz run``; empty if nothing does. Without it, its file alone."""
        self.marks = Marks(trace, "" if followed else file)  # a file that is recorded will have another name
        self.asking = Asking("" if followed else file) if guide is None else LessonAsking(guide.asked, guide.answers)
        self.search = Search(trace)
        self.cursor = self._first_cursor(Outline(trace, level), step)
        self._chooses_step = step is None and guide is None and followed is None
        self.enter_is_due = False
        """A number has answered a question: Enter right behind it belongs to it, and moves nothing."""
        self.focused_pane = STEPS
        """The number of the pane with the focus: in the key-set pane steps walk through the card."""
        self.is_drawing = False
        """A picture is being made in the background."""

    @property
    def trace(self) -> Trace:
        """The one that the cursor is in."""
        return self.cursor.trace

    def at_first_mistake(self) -> Cursor:
        """The cursor, after silent mistakes were looked for: a first one may be more important than what is shown."""
        if self.followed is None and self.guide is None:
            mistakes(self.trace)
        if self._chooses_step and self.cursor.outline is not None:
            self.cursor = replace(self.cursor, at=opening_step(self.cursor.outline))
        return self.cursor

    def grown(self, trace: Trace) -> Update:
        """The cursor in a trace that has more events than its own; a remark if it is the last one."""
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
        """At ``step``, as near as there is one; without it at what matters most."""
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
    """What the filter of a cursor lets through of a trace that has more events than its own."""
    if cursor.shown is None or not cursor.filter_text:
        return outline.steps, ""
    return still_hits(outline.trace, cursor.filter_text, cursor.shown, len(cursor.trace)), cursor.filter_text
