"""Playing a trace by itself: from each row of the list to the next one, until a question or the end."""

from __future__ import annotations

from dispatchviz.tui.commands.moves import move
from dispatchviz.views.autoplay_tempo import FASTER, ROW_SECONDS, SLOWER, TEMPOS, playing
from dispatchviz.views.keymap import key_of
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import line


def tempo_change(key: str) -> int:
    """Returns 1 for a key that plays faster, -1 for one that plays slower, 0 for any other."""
    return (key in key_of(FASTER).keys) - (key in key_of(SLOWER).keys)


def row_time(session: Session) -> float:
    """Returns the seconds for a row."""
    return ROW_SECONDS / session.tempo


def at_tempo(session: Session, by: int) -> Update:
    """Plays faster or slower, as long as the stepper is open."""
    wanted = TEMPOS.index(session.tempo) + by
    if not 0 <= wanted < len(TEMPOS):
        return Update(session.cursor, line((f" It is played as {'fast' if by > 0 else 'slowly'} as it can be", "hint")))
    session.tempo = TEMPOS[wanted]
    return Update(session.cursor, playing())


def told(session: Session) -> str:
    """Says the tempo for the header: ``playing ×2``."""
    return f"playing ×{session.tempo:g}"


def next_row(session: Session) -> Update | None:
    """Goes to the next row; None at the end. It asks questions as every move does."""
    update = move(session, "down")
    return None if update.asks is None and update.cursor.at == session.cursor.at else update
