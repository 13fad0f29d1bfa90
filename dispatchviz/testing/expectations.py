"""Assertions about a trace. A failure names the step by its number in the stepper.

Each takes a trace, which may still be recording, and optionally ``within``: then only events within the first match of
that pattern count. Calls that print a tensor count only if ``within`` matches the printing itself
(``events_of_kind.py``). A name that does not exist is refused (``known_names.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dispatchviz.core.record.events import AnyEvent
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import label
from dispatchviz.testing.failures import difference, failed, lines, near, proves_nothing, times, window
from dispatchviz.testing.graph_words import Part
from dispatchviz.testing.known_names import check_name, check_names
from dispatchviz.testing.patterns import Pattern
from dispatchviz.testing.trace_part import events_within
from dispatchviz.testing.trace_texts import key_ways


def assert_sequence(trace: Trace, patterns: Sequence[Pattern], within: Pattern | None = None) -> None:
    """Assert that exactly these events happen, in this order. Events of other kinds than the patterns' are ignored."""
    __tracebackhide__ = True
    check_names(trace, patterns)
    kinds = {pattern.kind for pattern in patterns}
    events = [event for event in events_within(trace, within) if type(event) in kinds]
    for k, pattern in enumerate(patterns):
        if k >= len(events):
            raise failed(trace, f"ends too soon: expected {pattern!r} after\n{window(trace, events, k)}", _last(events))
        if not pattern.matches(events[k]):
            raise failed(trace, difference(trace, events, k, repr(pattern)), events[k].seq)
    if len(events) > len(patterns):
        k = len(patterns)
        raise failed(trace, difference(trace, events, k, "nothing more"), events[k].seq)


def assert_subsequence(trace: Trace, patterns: Sequence[Pattern], within: Pattern | None = None) -> None:
    """Assert that events matching the patterns happen in this order; other events may come between."""
    __tracebackhide__ = True
    check_names(trace, patterns)
    events = list(events_within(trace, within))
    at = 0
    for k, pattern in enumerate(patterns):
        found = next((i for i in range(at, len(events)) if pattern.matches(events[i])), None)
        if found is None:
            after = f"after step {events[at - 1].seq}, the last one that matched" if at else ""
            what = f"pattern {k} of {len(patterns)}, {pattern!r}, does not happen {after}".rstrip()
            text = f"{what}; {near(trace, events[at:], pattern)}"
            raise failed(trace, text, events[at - 1].seq if at else None)
        at = found + 1


def assert_never(trace: Trace, pattern: Pattern, within: Pattern | None = None) -> None:
    """Assert that no event matches."""
    __tracebackhide__ = True
    assert_count(trace, pattern, 0, within)


def assert_count(trace: Trace, pattern: Pattern, count: int, within: Pattern | None = None) -> None:
    """Assert that exactly ``count`` events match."""
    __tracebackhide__ = True
    found = _found(trace, pattern, within)
    if len(found) != count:
        raise _miscounted(trace, pattern, found, count, times(count), within)


def assert_at_most(trace: Trace, pattern: Pattern, count: int, within: Pattern | None = None) -> None:
    """Assert that at most ``count`` events match."""
    __tracebackhide__ = True
    found = _found(trace, pattern, within)
    if len(found) > count:
        raise _miscounted(trace, pattern, found, count, f"at most {times(count)}" if count else "never", within)


def _found(trace: Trace, pattern: Pattern, within: Pattern | None) -> list[AnyEvent]:
    __tracebackhide__ = True
    check_names(trace, [pattern])
    if proves_nothing(trace):
        raise failed(trace, f"it is not known whether {pattern!r} happens")
    return [event for event in events_within(trace, within) if pattern.matches(event)]


def _miscounted(
    trace: Trace, pattern: Pattern, found: Sequence[AnyEvent], count: int, expected: str, within: Pattern | None
) -> AssertionError:
    """Return the failure for a wrong count, at the first event too many."""
    where = f"\n{lines(trace, found)}" if found else f"; {near(trace, events_within(trace, within), pattern)}"
    text = f"{pattern!r} happens {times(len(found))}, expected {expected}{where}"
    return failed(trace, text, found[min(count, len(found) - 1)].seq if found else None)


def redispatches_to(trace: Trace, operator: Any, *keys: str) -> bool:
    """Assert that each call of an operator is redispatched to these keys, in this order, and to no other; return True.

    ``redispatches_to(trace, "aten::add_.Tensor", "ADInplaceOrView", "CPU")``.
    """
    __tracebackhide__ = True
    for key in keys:
        check_name(trace, "key", key)
    for way in key_ways(trace, operator):
        if tuple(key for key, _ in way[1:]) != keys:
            raise failed(trace, *_other_way(trace, way, keys))
    return True


def _other_way(trace: Trace, way: Sequence[Part], keys: Sequence[str]) -> tuple[str, int]:
    """Return the failure's text and step for a call that goes to other keys."""
    first, begun = way[0]
    got = [key for key, _ in way[1:]]
    at = next((k for k, (a, b) in enumerate(zip(got, keys, strict=False)) if a != b), min(len(got), len(keys)))
    step = way[min(at + 1, len(way) - 1)][1]
    text = (
        f"the call at step {begun} is redispatched to other keys\n"
        f"  expected  {first} → {' → '.join(keys) or 'no redispatch'}\n"
        f"  got       {first} → {' → '.join(got) or 'no redispatch'}\n"
    )
    return text + lines(trace, [trace[each] for _, each in way], step), step


def assert_same(trace: Trace, other: Trace | str | Path) -> None:
    """Assert that every event equals that of another trace or of a saved one; headers may differ.

    A file that does not exist fails; ``trace.save(path)`` creates it.
    """
    __tracebackhide__ = True
    if not isinstance(other, Trace):
        if not Path(other).exists():
            raise failed(trace, f"there is no file {other} to compare with: create it with trace.save({str(other)!r})")
        other = Trace.load(other)
    mine, theirs = list(trace), list(other)
    for k, (got, want) in enumerate(zip(mine, theirs, strict=False)):
        if got != want:
            text = difference(trace, mine, k, f"{label(other, k)}   {want!r}")
            raise failed(trace, f"{text}\n  namely    {got!r}", got.seq)
    if len(mine) != len(theirs):
        shorter = min(len(mine), len(theirs))
        text = f"the same up to step {shorter - 1}, but there are {len(mine)} steps; expected {len(theirs)}"
        raise failed(trace, text, min(shorter, len(mine) - 1) if mine else None)


def _last(events: Sequence[AnyEvent]) -> int | None:
    return events[-1].seq if events else None
