"""Gradients on their way into ``.grad``: stolen, copied, or added to an existing gradient."""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.record.events import GradientAccumulated
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.testing.events_of_kind import events_of
from dispatchviz.testing.failures import failed, lines, still, without_log
from dispatchviz.testing.graph_words import plain_name

COPIED = "copied"
"""The word in a trace for a gradient that was copied into ``.grad``."""

REASONS = 3
"""The most reasons that a failure lists."""

Named = tuple[str, GradientAccumulated]
"""The name of a leaf, and how its ``.grad`` is written."""


def no_copy_in_accumulate(trace: Trace, *leaves: str) -> bool:
    """Assert that no gradient is copied on its way into ``.grad``, for all leaves or the named ones; return True.

    Also raise AssertionError if no gradient is written at all. Raise ValueError for a name that no leaf has.
    """
    __tracebackhide__ = True
    quiet = still(trace)
    named = [(plain_name(quiet, event.tensor, event.seq), event) for event in events_of(quiet, GradientAccumulated)]
    _check_leaves(named, leaves)
    wanted = [(name, event) for name, event in named if not leaves or name in leaves]
    if not wanted:
        raise failed(trace, f"no gradient is written to .grad{' of ' * bool(leaves)}{' or '.join(leaves)}")
    copied = [(name, event) for name, event in wanted if event.how == COPIED]
    if copied:
        raise _copied(trace, copied)
    return True


def _check_leaves(named: Sequence[Named], leaves: Sequence[str]) -> None:
    __tracebackhide__ = True
    there = list(dict.fromkeys(name for name, _ in named if name))
    for leaf in leaves:
        if there and leaf not in there:
            error = ValueError(f"no leaf {leaf!r} gets a gradient; these leaves do: {', '.join(there)}")
            raise without_log(error)


def _copied(trace: Trace, copied: Sequence[Named]) -> AssertionError:
    reasons = [f"  the gradient of {name or 'a leaf'} is copied: {event.why}" for name, event in copied[:REASONS]]
    steps = lines(trace, [event for _, event in copied])
    return failed(trace, "\n".join(["a gradient is copied into .grad", *reasons, steps]), copied[0][1].seq)
