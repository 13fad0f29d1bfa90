"""The choice of the steps for which a page contains each pane: all steps of a short program. Of a long one it keeps its
beginning, its end and the steps that do not repeat others.

The first iteration of a loop and its last one do not count as repeats. If that is still too much, only the beginning
and the end are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.outline.line_rows import LineRows, RowKind
from dispatchviz.explain.outline.outline import Outline

MOST = 4_000
"""The number of steps that are kept in full. Each takes some milliseconds to make."""

ITERATIONS = 1
"""The number of iterations of a loop that are kept, besides the last."""


def kept_steps(trace: Trace) -> Set[int]:
    """Return the steps whose costly panes, questions and sub-steps are in the file."""
    if len(trace) <= MOST:
        return frozenset(range(len(trace)))
    repeated = bytearray(len(trace))
    for begin, end in _repeats(Outline(trace, 0).lines):
        repeated[begin : end + 1] = bytes([1]) * (end + 1 - begin)
    kept = [step for step in range(len(trace)) if not repeated[step]]
    return frozenset(kept if len(kept) <= MOST else (*kept[: MOST // 2], *kept[-(MOST // 2) :]))


def _repeats(rows: LineRows) -> Iterator[tuple[int, int]]:
    """Yield the ranges of steps in iterations that repeat others."""
    for row in range(len(rows)):
        if rows.kind(row) is RowKind.ITERATION and ITERATIONS < rows.numbers[row] < rows.counts.get(
            rows.parents[row], 0
        ):
            yield rows.begins[row], rows.ends[row]
