"""The clock of a trace that plays by itself: it goes to the next row until a question, the end or a key stops it."""

from __future__ import annotations

from collections.abc import Callable

from textual.timer import Timer

from dispatchviz.tui.commands import autoplay
from dispatchviz.views.autoplay_tempo import paused, playing
from dispatchviz.views.session import Session, Update

GOES_ON_WITHOUT = ("space", "escape")
"""Keys that stop it and do nothing else."""


class Playing:
    """Plays the session of a stepper."""

    def __init__(self, session: Session, wait: Callable[[float], Timer], show: Callable[[Update], None]) -> None:
        """``wait`` has ``next_row`` called after some seconds; ``show`` puts an update on the screen."""
        self._session, self._wait, self._show = session, wait, show
        self._timer: Timer | None = None

    @property
    def is_on(self) -> bool:
        """Whether it plays now."""
        return self._timer is not None

    @property
    def tempo(self) -> str:
        """The tempo for the header; empty while it does not play."""
        return autoplay.told(self._session) if self.is_on else ""

    def begin(self) -> None:
        """Plays from now on."""
        self._play_on()
        self._show(Update(self._session.cursor, playing()))

    def next_row(self) -> None:
        """Goes to the next row."""
        update = autoplay.next_row(self._session)
        if update is None or update.asks is not None:
            self._timer = None
        self._show(update or Update(self._session.cursor, paused(": this is the last row")))
        if self.is_on:
            self._play_on()

    def key(self, key: str) -> bool:
        """Changes the tempo or stops, as a key wants; returns whether the key means nothing more."""
        if self._timer is None:
            return False
        self._timer.stop()
        if by := autoplay.tempo_change(key):
            changed = autoplay.at_tempo(self._session, by)
            self._play_on()
            self._show(changed)
            return True
        self._timer = None
        self._show(Update(self._session.cursor, paused()))
        return key in GOES_ON_WITHOUT

    def _play_on(self) -> None:
        self._timer = self._wait(autoplay.row_time(self._session))
