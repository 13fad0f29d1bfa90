"""The text of a failure: the step, the expectation, the actual event, and the steps around it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TypeVar

from dispatchviz.core.record.events import AnyEvent
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import label
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.running.recording import Recording
from dispatchviz.testing.patterns import Pattern
from dispatchviz.testing.torch_modules import is_installed_pytorch

E = TypeVar("E", bound=BaseException)

AROUND = 3
"""The number of steps shown before and after the first difference."""

MANY = 12
"""The most steps that are listed; further ones are only counted."""

STEP = "dispatchviz_step"
"""The attribute of a failure that holds the step where it shows. Reports show the log around this step."""

LOGLESS = "dispatchviz_logless"
"""The attribute of a failure that no trace explains, such as a wrong name or a missing file."""


def failed(trace: Trace, text: str, step: int | None = None) -> AssertionError:
    """Create the error of an expectation that does not hold. ``step`` is where that shows; None if nowhere in
    particular.
    """
    failure = AssertionError(text if len(trace) else f"{text}\n{empty_text(trace)}")
    setattr(failure, STEP, step)
    return failure


def without_log(error: E) -> E:
    """Mark an error so that a report shows no log for it."""
    setattr(error, LOGLESS, True)
    return error


def proves_nothing(trace: Trace) -> bool:
    """Return whether a trace of the model is empty while an installed PyTorch is loaded. Such emptiness proves
    nothing.
    """
    return not len(trace) and not is_live(trace.header) and is_installed_pytorch(sys.modules.get("torch"))


def empty_text(trace: Trace) -> str:
    """Return the text that explains an empty trace."""
    if is_live(trace.header):
        return (
            f"nothing was recorded on the installed PyTorch {trace.header.pytorch}; --dispatchviz-engine=model records "
            "the model"
        )
    return (
        "nothing was recorded on the model (`from dispatchviz import torch`); --dispatchviz-engine=torch records the "
        "installed PyTorch"
    )


def difference(trace: Trace, events: Sequence[AnyEvent], k: int, expected: str) -> str:
    """Return the text for a k-th event that differs from the expected one."""
    step = events[k].seq
    return (
        f"differs first at event {k} (step {step}):\n  expected  {expected}\n"
        f"  got       {label(still(trace), step)}\n{window(trace, events, k)}"
    )


def window(trace: Trace, events: Sequence[AnyEvent], k: int) -> str:
    """List the steps around the k-th event, which is marked."""
    near = events[max(k - AROUND, 0) : k + AROUND + 1]
    return lines(trace, near, events[k].seq if k < len(events) else None)


def near(trace: Trace, events: Sequence[AnyEvent], pattern: Pattern) -> str:
    """List the events that the pattern may have meant: those of its kind with an equal field, else all of its kind."""
    alike = [event for event in events if type(event) is pattern.kind]
    nearest = [event for event in alike if pattern.agrees(event)]
    title = "similar events" if nearest else f"events of the kind {pattern.kind.__name__}"
    return f"{title}:\n{lines(trace, nearest or alike)}" if alike else f"no {pattern.kind.__name__} happens at all"


def lines(trace: Trace, events: Sequence[AnyEvent], marked: int | None = None) -> str:
    """Return a row for each event, up to a limit."""
    quiet = still(trace)
    rows = [
        f"  {'>' if event.seq == marked else ' '} {event.seq:>4} {label(quiet, event.seq)}" for event in events[:MANY]
    ]
    return "\n".join([*rows, *[f"    and {len(events) - MANY} more"] * (len(events) > MANY)])


def listed(names: Sequence[str], none: str) -> str:
    """Join the different names, up to a limit."""
    different = list(dict.fromkeys(names))
    more = f" and {len(different) - MANY} more" * (len(different) > MANY)
    return f"{', '.join(different[:MANY])}{more}" or none


def still(trace: Trace) -> Trace:
    """Return a trace that no longer grows, because explanations cache the facts that they find in a trace."""
    return Trace(trace.header, list(trace.events)) if isinstance(trace, Recording) else trace


def times(count: int) -> str:
    """Return a count in words: ``never``, ``once``, ``3 times``."""
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")
