"""The silent mistakes of a trace by their steps, for screens: found once, when a screen wants them.

What a screen shows first waits for nothing, so that ``mistake_at`` answers from what ``mistakes`` has found by then.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis, Rank

MOST = 100_000
"""Of longer traces screens look for none: ``dispatchviz why`` does."""

_found: WeakKeyDictionary[Trace, dict[int, Diagnosis]] = WeakKeyDictionary()


def mistakes(trace: Trace) -> dict[int, Diagnosis]:
    """Step to the silent mistake that it is about, the most important first."""
    from dispatchviz.explain.diagnosis.silent_rules import silent_mistakes  # not for the first paint

    if trace not in _found:
        found = silent_mistakes(trace) if len(trace) <= MOST else ()
        by_step = dict[int, Diagnosis]()
        for each in found:
            by_step.setdefault(each.at, each)
        _found[trace] = by_step
    return _found[trace]


def mistake_at(trace: Trace, at: int) -> Diagnosis | None:
    """The mistake of a step, if they have been looked for."""
    return _found.get(trace, {}).get(at)


def first_mistake(trace: Trace, rank: Rank) -> int | None:
    """The step of the first mistake of a rank, if they have been looked for and there is one."""
    found = _found.get(trace, {}).items()
    return next((at for at, each in found if each.rank == rank), None)
