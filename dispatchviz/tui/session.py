"""The state of one stepper apart from its screen: the trace, the cursor in it, the marks, the search.

A command and an answered question return an ``Update``; the application stores and shows it. Knows no Textual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dispatchviz.core.record.events import ProgramRaised
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.folded_steps import FOLDED
from dispatchviz.tui.cursor.cursor import Cursor
from dispatchviz.tui.cursor.listed_steps import shown_at_first
from dispatchviz.tui.cursor.saved_marks import Marks
from dispatchviz.tui.cursor.step_search import Search
from dispatchviz.tui.text.styled_line import Line


@dataclass(frozen=True)
class Update:
    """What a command changes."""

    cursor: Cursor
    note: Line | None = None
    """One remark about it, shown until the next command."""
    clipboard: str = ""
    """Text to copy."""
    then: Callable[[], Update] | None = None
    """What follows as soon as this is on the screen."""
    goes_on: Callable[[], Update] | None = None
    """The next slice of work that is not done yet, a few milliseconds of it; dropped as soon as there is something else
    to show."""
    later: Callable[[], Line] | None = None
    """What is done in the background while the reader goes on; the line that it gives is shown when it is done."""


class Session:
    """One reader of one trace, which has at least one event."""

    def __init__(
        self, trace: Trace, step: int | None = None, file: str = "", run_arguments: Sequence[str] | None = None
    ) -> None:
        self.trace = trace
        self.file = file
        """The file that the trace is kept in; empty if there is none."""
        self.run_arguments = [trace.header.program] if run_arguments is None else run_arguments
        """What runs the program again, after ``dispatchviz run``; empty if nothing does. Without it, its file alone."""
        self.marks = Marks(trace, file)
        self.search = Search(trace)
        self.cursor = self._first_cursor(step)
        self.is_drawing = False
        """A picture is being made in the background."""

    def _first_cursor(self, step: int | None) -> Cursor:
        """At ``step``, as near as there is one; without it at the first step, or the last if the program raised."""
        last = len(self.trace) - 1
        begin = last if step is None and isinstance(self.trace[-1], ProgramRaised) else step or 0
        shown = shown_at_first(self.trace)
        return Cursor(
            self.trace,
            max(0, min(begin, last)),
            marks=frozenset(self.marks.names),
            shown=shown,
            filter_text=FOLDED if shown else "",
        )
