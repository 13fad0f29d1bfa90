"""The silent mistakes of a trace by their steps, for screens. They are searched once, when a screen needs them.

The first screen does not wait, so ``mistake_at`` answers with the mistakes that ``mistakes`` has found so far.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis, Rank

MOST = 100_000
"""The largest number of steps of a trace in which screens search for mistakes. ``dispatchviz why`` always does."""

_found: WeakKeyDictionary[Trace, dict[int, Diagnosis]] = WeakKeyDictionary()


def mistakes(trace: Trace) -> dict[int, Diagnosis]:
    """Return the silent mistakes by step, the most important first."""
    from dispatchviz.explain.diagnosis.silent_rules import silent_mistakes  # would delay the first screen

    if trace not in _found:
        found = silent_mistakes(trace) if len(trace) <= MOST else ()
        by_step = dict[int, Diagnosis]()
        for each in found:
            by_step.setdefault(each.at, each)
        _found[trace] = by_step
    return _found[trace]


def mistake_at(trace: Trace, at: int) -> Diagnosis | None:
    """Return the mistake of a step, if mistakes have been searched."""
    return _found.get(trace, {}).get(at)


def first_mistake(trace: Trace, rank: Rank) -> int | None:
    """Return the step of the first mistake of a rank, if mistakes have been searched and there is one."""
    found = _found.get(trace, {}).items()
    return next((at for at, each in found if each.rank == rank), None)
