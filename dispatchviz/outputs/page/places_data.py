"""The targets of sequences of two keys: all steps of each name in the keymap, found as the stepper finds the next
one.
"""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.outputs.page.tracks import differences
from dispatchviz.outputs.page.written_numbers import written
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.cursor.targets import TARGETS, Find


def places_data(trace: Trace) -> dict[str, str]:
    """Return the steps of each name, as differences."""
    outline = Outline(trace, 0)
    return {name: written(differences(_steps(trace, outline, find))) for name, find in TARGETS.items()}


def _steps(trace: Trace, outline: Outline, find: Find) -> Iterator[int]:
    second = Cursor(trace, min(1, len(trace) - 1), outline=outline)
    if (first := find(second, False)) is not None:
        yield first
    step = find(Cursor(trace, 0, outline=outline), True)
    while step is not None:
        yield step
        step = find(Cursor(trace, step, outline=outline), True)
