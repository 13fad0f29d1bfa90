"""Assertions over a trace. What fails says where: the step, in the words of the stepper.

All take a trace, also one that is still being recorded, and optionally ``within``: then only what happened within
the first event of that pattern counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dispatchviz.core.events import AnyEvent, Dispatched, KernelEntered
from dispatchviz.core.trace import Trace
from dispatchviz.explain.labels import label
from dispatchviz.testing.patterns import Pattern

AROUND = 3
"""Steps shown before and after the one where a sequence differs."""


def assert_sequence(trace: Trace, patterns: Sequence[Pattern], within: Pattern | None = None) -> None:
    """The events of the kinds that the patterns name are these, all of them, in this order."""
    __tracebackhide__ = True
    kinds = {pattern.kind for pattern in patterns}
    events = [event for event in _part(trace, within) if type(event) in kinds]
    for k, pattern in enumerate(patterns):
        if k >= len(events):
            raise AssertionError(f"ends too soon: expected {pattern!r} after\n{_window(trace, events, k)}")
        if not pattern.matches(events[k]):
            raise AssertionError(_difference(trace, events, k, repr(pattern)))
    if len(events) > len(patterns):
        raise AssertionError(_difference(trace, events, len(patterns), "nothing more"))


def assert_subsequence(trace: Trace, patterns: Sequence[Pattern], within: Pattern | None = None) -> None:
    """Events that match the patterns happen in this order; others may lie between."""
    __tracebackhide__ = True
    events = list(_part(trace, within))
    at = 0
    for k, pattern in enumerate(patterns):
        found = next((i for i in range(at, len(events)) if pattern.matches(events[i])), None)
        if found is None:
            after = f"after step {events[at - 1].seq}, which is the last that matched, " if at else ""
            near = _near(trace, events[at:], pattern)
            raise AssertionError(f"pattern {k} of {len(patterns)}, {pattern!r}, does not happen {after}{near}")
        at = found + 1


def assert_never(trace: Trace, pattern: Pattern, within: Pattern | None = None) -> None:
    """No event matches."""
    __tracebackhide__ = True
    assert_count(trace, pattern, 0, within)


def assert_count(trace: Trace, pattern: Pattern, count: int, within: Pattern | None = None) -> None:
    """So many events match."""
    __tracebackhide__ = True
    found = [event for event in _part(trace, within) if pattern.matches(event)]
    if len(found) != count:
        places = f"\n{_lines(trace, found)}" if found else _near(trace, list(_part(trace, within)), pattern)
        raise AssertionError(f"{pattern!r} happens {_times(len(found))}, expected {_times(count)}{places}")


def assert_kernel_ran(trace: Trace, kernel: str, under: str, within: Pattern | None = None) -> None:
    """A kernel ran in the cell of a key: ``assert_kernel_ran(trace, "wrapper_CUDA_add_Tensor", under="CUDA")``."""
    __tracebackhide__ = True
    ran = [(event.kernel, _key(trace, event)) for event in _part(trace, within) if isinstance(event, KernelEntered)]
    if (kernel, under) not in ran:
        keys = ", ".join(dict.fromkeys(key for name, key in ran if name == kernel)) or "no key at all"
        kernels = ", ".join(dict.fromkeys(name for name, key in ran if key == under)) or "no kernel at all"
        raise AssertionError(f"{kernel} did not run under {under}\n  it ran under: {keys}\n  {under} ran: {kernels}")


def assert_same(trace: Trace, other: Trace | str | Path) -> None:
    """Event for event the same as another trace or a saved one (headers may differ).

    A file that does not exist fails; ``trace.save(path)`` makes it.
    """
    __tracebackhide__ = True
    if not isinstance(other, Trace):
        if not Path(other).exists():
            raise AssertionError(f"there is no {other} to compare with: make it with trace.save({str(other)!r})")
        other = Trace.load(other)
    mine, theirs = list(trace), list(other)
    for k, (got, want) in enumerate(zip(mine, theirs, strict=False)):
        if got != want:
            raise AssertionError(
                _difference(trace, mine, k, f"{label(other, k)}   {want!r}") + f"\n  namely    {got!r}"
            )
    if len(mine) != len(theirs):
        shorter = min(len(mine), len(theirs))
        raise AssertionError(f"the same up to step {shorter - 1}, but {len(mine)} steps, expected {len(theirs)}")


def _part(trace: Trace, within: Pattern | None) -> Sequence[AnyEvent]:
    if within is None:
        return trace[:]
    start = next((event.seq for event in trace if within.matches(event)), None)
    if start is None:
        raise AssertionError(f"{within!r} does not happen, so nothing happens within it")
    return trace[start : trace.ends[start] + 1]


def _key(trace: Trace, event: KernelEntered) -> str:
    call = None if event.parent is None else trace[event.parent]
    return call.key if isinstance(call, Dispatched) else ""


# -- words ------------------------------------------------------------------------------------------------------------


def _difference(trace: Trace, events: Sequence[AnyEvent], k: int, expected: str) -> str:
    step = events[k].seq
    return (
        f"differs first at event {k} (step {step}):\n  expected  {expected}\n"
        f"  got       {label(_still(trace), step)}\n{_window(trace, events, k)}"
    )


def _window(trace: Trace, events: Sequence[AnyEvent], k: int) -> str:
    """The steps around the k-th, which is marked."""
    near = events[max(k - AROUND, 0) : k + AROUND + 1]
    return _lines(trace, near, events[k].seq if k < len(events) else None)


def _near(trace: Trace, events: Sequence[AnyEvent], pattern: Pattern) -> str:
    """The events that the pattern could have meant."""
    alike = [event for event in events if type(event) is pattern.kind][: 4 * AROUND]
    return f"; what happens of that kind:\n{_lines(trace, alike)}" if alike else f"; no {pattern.kind.__name__} does"


def _lines(trace: Trace, events: Sequence[AnyEvent], marked: int | None = None) -> str:
    still = _still(trace)
    return "\n".join(
        f"  {'>' if event.seq == marked else ' '} {event.seq:>4} {label(still, event.seq)}" for event in events
    )


def _still(trace: Trace) -> Trace:
    """A copy that no longer grows: what explains a trace may remember what it found there."""
    return Trace(trace.header, list(trace.events))


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")
