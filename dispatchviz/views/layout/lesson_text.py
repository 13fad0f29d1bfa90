"""What a lesson says at a moment, for the bar above the panes."""

from __future__ import annotations

from typing import NamedTuple

from dispatchviz.views.text.styled_line import Line


class Said(NamedTuple):
    """Its rows; none while no lesson is read."""

    rows: tuple[Line, ...] = ()
    alone: bool = False
    """They are about no step: the sentence of the step is not shown below them."""
