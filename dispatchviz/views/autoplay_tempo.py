"""The pace at which a trace plays by itself, and what the stepper and the page say meanwhile."""

from __future__ import annotations

from dispatchviz.views.keymap import key_of, shown_key
from dispatchviz.views.text.styled_line import Line, line

ROW_SECONDS = 4.0
"""For one row, at the normal tempo."""


TEMPOS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""How many times as fast as that."""


FASTER, SLOWER = "detail(1)", "detail(-1)"
"""Their keys change the tempo while the trace is played; any other key stops it."""


def tempo_key(action: str) -> str:
    """Returns the single key of ``FASTER`` or ``SLOWER``, as a person reads it."""
    return shown_key(next(key for key in key_of(action).keys if " " not in key))


def playing() -> Line:
    """Says which keys change the tempo."""
    return line((f" Playing: {tempo_key(FASTER)} is faster, {tempo_key(SLOWER)} slower, any other key stops", "hint"))


def paused(why: str = "") -> Line:
    """Says that it has stopped."""
    return line((f" Stopped playing{why}", "hint"))
