"""Assertions over a trace. A failure names the step, as the stepper does.

All take a trace, also one that is still being recorded, and optionally ``within``: then only what happened within
the first event of that pattern counts. A name that does not exist is refused (``known_names.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dispatchviz.core.record.events import AnyEvent, Dispatched, KernelEntered
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.step_labels import label
from dispatchviz.testing.known_names import check_name, check_names
from dispatchviz.testing.patterns import Pattern

AROUND = 3
"""Steps shown before and after the one where a sequence differs."""

MANY = 12
"""So many steps are listed, of more the rest is counted."""


STEP = "dispatchviz_step"
"""The attribute of a failure that holds the step at which it shows: reports show the log around that one."""


def failed(text: str, step: int | None = None) -> AssertionError:
    """An expectation that does not hold; ``step`` is where that shows, None if nowhere in particular."""
    failure = AssertionError(text)
    setattr(failure, STEP, step)
    return failure


def assert_sequence(trace: Trace, patterns: Sequence[Pattern], within: Pattern | None = None) -> None:
    """The events of the kinds that the patterns name are these, all of them, in this order."""
    __tracebackhide__ = True
    check_names(trace, patterns)
    kinds = {pattern.kind for pattern in patterns}
    events = [event for event in _part(trace, within) if type(event) in kinds]
    for k, pattern in enumerate(patterns):
        if k >= len(events):
            raise failed(f"ends too soon: expected {pattern!r} after\n{_window(trace, events, k)}", _last(events))
        if not pattern.matches(events[k]):
            raise failed(_difference(trace, events, k, repr(pattern)), events[k].seq)
    if len(events) > len(patterns):
        k = len(patterns)
        raise failed(_difference(trace, events, k, "nothing more"), events[k].seq)


def assert_subsequence(trace: Trace, patterns: Sequence[Pattern], within: Pattern | None = None) -> None:
    """Events that match the patterns happen in this order; others may lie between."""
    __tracebackhide__ = True
    check_names(trace, patterns)
    events = list(_part(trace, within))
    at = 0
    for k, pattern in enumerate(patterns):
        found = next((i for i in range(at, len(events)) if pattern.matches(events[i])), None)
        if found is None:
            after = f"after step {events[at - 1].seq}, which is the last that matched" if at else ""
            near = _near(trace, events[at:], pattern)
            what = f"pattern {k} of {len(patterns)}, {pattern!r}, does not happen {after}".rstrip()
            raise failed(f"{what}; {near}", events[at - 1].seq if at else None)
        at = found + 1


def assert_never(trace: Trace, pattern: Pattern, within: Pattern | None = None) -> None:
    """No event matches."""
    __tracebackhide__ = True
    assert_count(trace, pattern, 0, within)


def assert_count(trace: Trace, pattern: Pattern, count: int, within: Pattern | None = None) -> None:
    """So many events match."""
    __tracebackhide__ = True
    check_names(trace, [pattern])
    found = [event for event in _part(trace, within) if pattern.matches(event)]
    if len(found) != count:
        found_at = f"\n{_lines(trace, found)}" if found else f"; {_near(trace, list(_part(trace, within)), pattern)}"
        text = f"{pattern!r} happens {_times(len(found))}, expected {_times(count)}{found_at}"
        raise failed(text, found[min(count, len(found) - 1)].seq if found else None)


def assert_kernel_ran(trace: Trace, kernel: str, under: str, within: Pattern | None = None) -> None:
    """A kernel ran in the cell of a key: ``assert_kernel_ran(trace, "wrapper_CUDA_add_Tensor", under="CUDA")``."""
    __tracebackhide__ = True
    check_name(trace, "kernel", kernel)
    check_name(trace, "key", under)
    ran = [(event.kernel, _key(trace, event)) for event in _part(trace, within) if isinstance(event, KernelEntered)]
    if (kernel, under) not in ran:
        keys = _listed([key for name, key in ran if name == kernel], "no key at all")
        kernels = _listed([name for name, key in ran if key == under], "no kernel at all")
        raise failed(f"{kernel} did not run under {under}\n  it ran under: {keys}\n  {under} ran: {kernels}")


def assert_same(trace: Trace, other: Trace | str | Path) -> None:
    """Event for event the same as another trace or a saved one (headers may differ).

    A file that does not exist fails; ``trace.save(path)`` makes it.
    """
    __tracebackhide__ = True
    if not isinstance(other, Trace):
        if not Path(other).exists():
            raise failed(f"there is no {other} to compare with: make it with trace.save({str(other)!r})")
        other = Trace.load(other)
    mine, theirs = list(trace), list(other)
    for k, (got, want) in enumerate(zip(mine, theirs, strict=False)):
        if got != want:
            text = _difference(trace, mine, k, f"{label(other, k)}   {want!r}")
            raise failed(f"{text}\n  namely    {got!r}", got.seq)
    if len(mine) != len(theirs):
        shorter = min(len(mine), len(theirs))
        text = f"the same up to step {shorter - 1}, but {len(mine)} steps, expected {len(theirs)}"
        raise failed(text, min(shorter, len(mine) - 1) if mine else None)


def _part(trace: Trace, within: Pattern | None) -> Sequence[AnyEvent]:
    __tracebackhide__ = True
    if within is None:
        return trace[:]
    check_names(trace, [within])
    start = next((event.seq for event in trace if within.matches(event)), None)
    if start is None:
        raise failed(f"{within!r} does not happen, so nothing happens within it")
    return trace[start : trace.ends[start] + 1]


def _last(events: Sequence[AnyEvent]) -> int | None:
    return events[-1].seq if events else None


def _key(trace: Trace, event: KernelEntered) -> str:
    call = None if event.parent is None else trace[event.parent]
    return call.key if isinstance(call, Dispatched) else ""


# -- messages ---------------------------------------------------------------------------------------------------------


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
    alike = [event for event in events if type(event) is pattern.kind]
    return f"what happens of that kind:\n{_lines(trace, alike)}" if alike else f"no {pattern.kind.__name__} does"


def _lines(trace: Trace, events: Sequence[AnyEvent], marked: int | None = None) -> str:
    still = _still(trace)
    rows = [
        f"  {'>' if event.seq == marked else ' '} {event.seq:>4} {label(still, event.seq)}" for event in events[:MANY]
    ]
    return "\n".join([*rows, *[f"    and {len(events) - MANY} more"] * (len(events) > MANY)])


def _listed(names: Sequence[str], none: str) -> str:
    """Different names, as many as are read."""
    different = list(dict.fromkeys(names))
    more = f" and {len(different) - MANY} more" * (len(different) > MANY)
    return f"{', '.join(different[:MANY])}{more}" or none


def _still(trace: Trace) -> Trace:
    """A copy that no longer grows: what explains a trace may remember what it found there."""
    return Trace(trace.header, list(trace.events))


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")
