"""Long work in slices: keys are read and the screen is painted between two of them."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from dispatchviz.views.session import Session, Update

PAUSE = 0.001
"""Seconds between slices."""

REPORTED = 0.1
"""Seconds between two looks of the reader at how far it is."""

Work = Callable[[], Update]
"""The next slice; its update has the one after it in ``goes_on``."""


class LongWork:
    """The work that goes on while the reader may type; new work takes its place."""

    def __init__(
        self, session: Session, set_timer: Callable[[float, Callable[[], None]], object], show: Callable[[Update], None]
    ) -> None:
        """``set_timer`` calls a function after some seconds; ``show`` puts an update on the screen."""
        self._session, self._set_timer, self._show = session, set_timer, show
        self._next: Work | None = None
        self._shown = 0.0

    @property
    def is_going_on(self) -> bool:
        """True if some is left."""
        return self._next is not None

    def begin(self, work: Work | None) -> None:
        """Do the first slice when the keys that wait are answered; drop what was going on, also for None."""
        self._next = work
        if work is not None:
            self._set_timer(PAUSE, lambda: self._go_on(work))

    def shown(self) -> None:
        """The screen shows the state of now."""
        self._shown = monotonic()

    def _go_on(self, work: Work) -> None:
        if self._next is not work:
            return
        update = work()
        if update.goes_on and update.cursor.at == self._session.cursor.at and monotonic() < self._shown + REPORTED:
            self.begin(update.goes_on)
        else:
            self._show(update)
