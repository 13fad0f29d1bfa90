"""Long work in slices. Between slices, keys are read and the screen is painted."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from dispatchviz.views.session import Session, Update

PAUSE = 0.001
"""The seconds between slices."""

REPORTED = 0.1
"""The seconds between two progress reports."""

Work = Callable[[], Update]
"""A slice of work; its update has the following slice in ``goes_on``."""


class LongWork:
    """Work that continues while the reader may type. New work replaces it."""

    def __init__(
        self, session: Session, set_timer: Callable[[float, Callable[[], None]], object], show: Callable[[Update], None]
    ) -> None:
        """Create the worker. ``set_timer`` calls a function after some seconds, ``show`` puts an update on the
        screen.
        """
        self._session, self._set_timer, self._show = session, set_timer, show
        self._next: Work | None = None
        self._shown = 0.0

    @property
    def is_going_on(self) -> bool:
        """True if work is left."""
        return self._next is not None

    def begin(self, work: Work | None) -> None:
        """Run the first slice after the waiting keys were handled. This drops earlier work, even if ``work`` is
        None.
        """
        self._next = work
        if work is not None:
            self._set_timer(PAUSE, lambda: self._go_on(work))

    def shown(self) -> None:
        """Note that the screen shows the current state."""
        self._shown = monotonic()

    def _go_on(self, work: Work) -> None:
        if self._next is not work:
            return
        update = work()
        if update.goes_on and update.cursor.at == self._session.cursor.at and monotonic() < self._shown + REPORTED:
            self.begin(update.goes_on)
        else:
            self._show(update)
