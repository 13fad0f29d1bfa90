"""Playing a trace by itself: a step, the time that it takes to read it, the next step."""

from __future__ import annotations

from dispatchviz.explain.sentences.step_sentences import why_here
from dispatchviz.tui.commands.moves import move
from dispatchviz.tui.session import Session, Update
from dispatchviz.tui.text.styled_line import Line, line

WORDS = 4.0
"""So many are read in a second, by one who looks at the panes as well."""

SHORTEST, LONGEST = 2.0, 12.0
"""Seconds for a step."""

PLAYING = line((" Playing; any key stops", "hint"))


def reading_time(session: Session) -> float:
    """Seconds for the step of the cursor."""
    words = len(why_here(session.trace, session.cursor.at).split())
    return max(SHORTEST, min(words / WORDS, LONGEST))


def next_step(session: Session) -> Update | None:
    """A step on; None at the end. A question is asked as always."""
    update = move(session, "into")
    return None if update.asks is None and update.cursor.at == session.cursor.at else update


def paused(why: str = "") -> Line:
    """The note when it stops."""
    return line((f" Stopped playing{why}", "hint"))
