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

TEMPOS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""How many times as fast as one reads."""

TEMPO_KEYS = {"plus": 1, "minus": -1}
"""What these keys do while it is played; any other stops it."""

PLAYING = line((" Playing: + is faster, - slower, any other key stops", "hint"))


def reading_time(session: Session) -> float:
    """Seconds for the step of the cursor."""
    words = len(why_here(session.trace, session.cursor.at).split())
    return max(SHORTEST, min(words / WORDS, LONGEST)) / session.tempo


def at_tempo(session: Session, by: int) -> Update:
    """Faster or slower, as long as the stepper is open."""
    wanted = TEMPOS.index(session.tempo) + by
    if not 0 <= wanted < len(TEMPOS):
        return Update(session.cursor, line((f" It is played as {'fast' if by > 0 else 'slowly'} as it can be", "hint")))
    session.tempo = TEMPOS[wanted]
    return Update(session.cursor, PLAYING)


def told(session: Session) -> str:
    """For the header: ``playing ×2``."""
    return f"playing ×{session.tempo:g}"


def next_step(session: Session) -> Update | None:
    """A step on; None at the end. A question is asked as always."""
    update = move(session, "into")
    return None if update.asks is None and update.cursor.at == session.cursor.at else update


def paused(why: str = "") -> Line:
    """The note when it stops."""
    return line((f" Stopped playing{why}", "hint"))
