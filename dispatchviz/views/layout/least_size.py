"""Terminals that are too small for a screen."""

from __future__ import annotations

from dispatchviz.views.layout.pane_layout import SMALLEST
from dispatchviz.views.text.line_fitting import wrap
from dispatchviz.views.text.styled_line import Line, line


def is_too_small(width: int, height: int) -> bool:
    """Return whether a terminal has no room for a screen."""
    return width < SMALLEST[0] or height < SMALLEST[1]


def too_small(width: int, height: int) -> list[Line]:
    """Return the message in a terminal that is too small."""
    text = f"The terminal is {width}x{height}. dispatchviz needs at least {SMALLEST[0]}x{SMALLEST[1]}"
    return wrap(line((text, "warning")), max(width, 1))
