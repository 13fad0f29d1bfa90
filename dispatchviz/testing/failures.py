"""What a failure says: which step, what was expected there, what came instead, and the steps around it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TypeVar

from dispatchviz.core.record.events import AnyEvent
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.step_labels import label
from dispatchviz.running.recording import Recording
from dispatchviz.testing.patterns import Pattern

E = TypeVar("E", bound=BaseException)

AROUND = 3
"""Steps shown before and after the one where a sequence differs."""

MANY = 12
"""So many steps are listed, of more the rest is counted."""

STEP = "dispatchviz_step"
"""The attribute of a failure that holds the step at which it shows: reports show the log around that one."""

LOGLESS = "dispatchviz_logless"
"""The attribute, True, of a failure that no trace explains: a name is wrong, a file is missing."""

EMPTY = (
    "nothing was recorded: `from dispatchviz import torch` is the model, which is recorded; an installed PyTorch is "
    'recorded by `with dispatchviz.record(engine="torch") as trace:`'
)
"""What is to be said of an empty trace."""


def failed(trace: Trace, text: str, step: int | None = None) -> AssertionError:
    """An expectation that does not hold; ``step`` is where that shows, None if nowhere in particular."""
    failure = AssertionError(text if len(trace) else f"{text}\n{EMPTY}")
    setattr(failure, STEP, step)
    return failure


def loglessly(error: E) -> E:
    """The same error, for which a report shows no log."""
    setattr(error, LOGLESS, True)
    return error


def says_nothing(trace: Trace) -> bool:
    """A trace is empty while a real PyTorch is loaded: what never happens in it proves nothing."""
    return not len(trace) and sys.modules.get("torch") not in (None, sys.modules.get("dispatchviz.torch"))


def difference(trace: Trace, events: Sequence[AnyEvent], k: int, expected: str) -> str:
    """The k-th event is another one than expected."""
    step = events[k].seq
    return (
        f"differs first at event {k} (step {step}):\n  expected  {expected}\n"
        f"  got       {label(still(trace), step)}\n{window(trace, events, k)}"
    )


def window(trace: Trace, events: Sequence[AnyEvent], k: int) -> str:
    """The steps around the k-th, which is marked."""
    near = events[max(k - AROUND, 0) : k + AROUND + 1]
    return lines(trace, near, events[k].seq if k < len(events) else None)


def near(trace: Trace, events: Sequence[AnyEvent], pattern: Pattern) -> str:
    """The events that the pattern could have meant: of its kind, and if there are some, with a field as it says."""
    alike = [event for event in events if type(event) is pattern.kind]
    nearest = [event for event in alike if pattern.agrees(event)]
    said = "what comes near" if nearest else "what happens of that kind"
    return f"{said}:\n{lines(trace, nearest or alike)}" if alike else f"no {pattern.kind.__name__} does"


def lines(trace: Trace, events: Sequence[AnyEvent], marked: int | None = None) -> str:
    """A row for each of some events, unless there are too many."""
    quiet = still(trace)
    rows = [
        f"  {'>' if event.seq == marked else ' '} {event.seq:>4} {label(quiet, event.seq)}" for event in events[:MANY]
    ]
    return "\n".join([*rows, *[f"    and {len(events) - MANY} more"] * (len(events) > MANY)])


def listed(names: Sequence[str], none: str) -> str:
    """Different names, as many as are read."""
    different = list(dict.fromkeys(names))
    more = f" and {len(different) - MANY} more" * (len(different) > MANY)
    return f"{', '.join(different[:MANY])}{more}" or none


def still(trace: Trace) -> Trace:
    """A trace that no longer grows: what explains a trace may remember what it found there."""
    return Trace(trace.header, list(trace.events)) if isinstance(trace, Recording) else trace


def times(count: int) -> str:
    """``never``, ``once``, ``3 times``."""
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")
