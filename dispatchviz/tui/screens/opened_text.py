"""What both the home screen and that of two runs answer to a key: a text that opens over the screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dispatchviz.views.text.styled_line import Line


@dataclass(frozen=True)
class Text:
    """A text that opens over the screen."""

    title: str
    rows: Callable[[int], list[Line]]
    """Its rows, for a width."""
