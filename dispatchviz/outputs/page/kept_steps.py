"""Of which steps a page has every pane: all of a short program; of a long one what is not a repeat, and its ends.

Of a loop the first iterations and the last one are no repeats. Where that is still too much, the beginning and the end
are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.outline.line_rows import LineRows, RowKind
from dispatchviz.explain.outline.outline import Outline

MOST = 4_000
"""So many steps are kept in full; each takes some milliseconds to make."""

ITERATIONS = 2
"""So many iterations of a loop are kept, besides the last."""


def kept_steps(trace: Trace) -> Set[int]:
    """The steps whose costly panes, questions and sub-steps are in the file."""
    if len(trace) <= MOST:
        return frozenset(range(len(trace)))
    repeated = bytearray(len(trace))
    for begin, end in _repeats(Outline(trace, 0).lines):
        repeated[begin : end + 1] = bytes([1]) * (end + 1 - begin)
    kept = [step for step in range(len(trace)) if not repeated[step]]
    return frozenset(kept if len(kept) <= MOST else (*kept[: MOST // 2], *kept[-(MOST // 2) :]))


def _repeats(rows: LineRows) -> Iterator[tuple[int, int]]:
    """The stretches of steps of iterations that repeat others."""
    for row in range(len(rows)):
        if rows.kind(row) is RowKind.ITERATION and ITERATIONS < rows.numbers[row] < rows.counts.get(
            rows.parents[row], 0
        ):
            yield rows.begins[row], rows.ends[row]
