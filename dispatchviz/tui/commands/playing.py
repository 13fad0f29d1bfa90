"""Automatic playing: a clock moves from row to row until a question, the end or a key stops it."""

from __future__ import annotations

from collections.abc import Callable

from textual.timer import Timer

from dispatchviz.tui.commands.moves import move
from dispatchviz.views.keymap import key_of
from dispatchviz.views.replies import FASTER, ROW_SECONDS, SLOWER, TEMPOS, paused, playing
from dispatchviz.views.session import Session, Update
from dispatchviz.views.text.styled_line import line

GOES_ON_WITHOUT = ("space", "escape")
"""The keys that stop playing and do nothing else."""


class Playing:
    """The player of a session."""

    def __init__(self, session: Session, wait: Callable[[float], Timer], show: Callable[[Update], None]) -> None:
        """Create the player. ``wait`` calls ``next_row`` after some seconds, ``show`` puts an update on the screen."""
        self._session, self._wait, self._show = session, wait, show
        self._timer: Timer | None = None

    @property
    def is_on(self) -> bool:
        """True while it plays."""
        return self._timer is not None

    @property
    def tempo(self) -> str:
        """The tempo for the header; empty while it does not play."""
        return tempo_text(self._session) if self.is_on else ""

    def begin(self) -> None:
        """Start playing."""
        self._play_on()
        self._show(Update(self._session.cursor, playing()))

    def next_row(self) -> None:
        """Go to the next row."""
        update = next_row(self._session)
        if update is None or update.asks is not None:
            self._timer = None
        self._show(update or Update(self._session.cursor, paused(": this is the last row")))
        if self.is_on:
            self._play_on()

    def key(self, key: str) -> bool:
        """Change the tempo or stop. Return whether the key has no other effect."""
        if self._timer is None:
            return False
        self._timer.stop()
        if by := tempo_change(key):
            changed = at_tempo(self._session, by)
            self._play_on()
            self._show(changed)
            return True
        self._timer = None
        self._show(Update(self._session.cursor, paused()))
        return key in GOES_ON_WITHOUT

    def _play_on(self) -> None:
        self._timer = self._wait(row_time(self._session))


def tempo_change(key: str) -> int:
    """Return 1 for a key that plays faster, -1 for one that plays slower, 0 for any other."""
    return (key in key_of(FASTER).keys) - (key in key_of(SLOWER).keys)


def row_time(session: Session) -> float:
    """Return the seconds for a row."""
    return ROW_SECONDS / session.tempo


def at_tempo(session: Session, by: int) -> Update:
    """Play faster or slower; the tempo lasts until the stepper closes."""
    wanted = TEMPOS.index(session.tempo) + by
    if not 0 <= wanted < len(TEMPOS):
        return Update(session.cursor, line((f" This is the {'fastest' if by > 0 else 'slowest'} tempo", "hint")))
    session.tempo = TEMPOS[wanted]
    return Update(session.cursor, playing())


def tempo_text(session: Session) -> str:
    """The tempo for the header: ``playing ×2``."""
    return f"playing ×{session.tempo:g}"


def next_row(session: Session) -> Update | None:
    """Go to the next row, or return None at the end. Like every move, it stops at questions."""
    update = move(session, "down")
    return None if update.asks is None and update.cursor.at == session.cursor.at else update
