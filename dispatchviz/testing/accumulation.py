"""How gradients get into ``.grad``: stolen, or copied, or added to what is there."""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.record.events import GradientAccumulated
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.testing.events_of_kind import events_of
from dispatchviz.testing.failures import failed, lines, loglessly, still
from dispatchviz.testing.graph_words import plain_name

COPIED = "copied"
"""What a trace says of a gradient of which ``.grad`` is a copy."""

REASONS = 3
"""So many reasons are told at most."""

Named = tuple[str, GradientAccumulated]
"""The name of a leaf, and how its ``.grad`` is written."""


def no_copy_in_accumulate(trace: Trace, *leaves: str) -> bool:
    """No gradient is copied on its way into ``.grad``, of all leaves or of those named; True.

    AssertionError also if no ``.grad`` of theirs is written at all; ValueError for a name that no leaf has.
    """
    __tracebackhide__ = True
    quiet = still(trace)
    named = [(plain_name(quiet, event.tensor, event.seq), event) for event in events_of(quiet, GradientAccumulated)]
    _check_leaves(named, leaves)
    wanted = [(name, event) for name, event in named if not leaves or name in leaves]
    if not wanted:
        raise failed(trace, f"no .grad{' of ' * bool(leaves)}{' or '.join(leaves)} is written")
    copied = [(name, event) for name, event in wanted if event.how == COPIED]
    if copied:
        raise _copied(trace, copied)
    return True


def _check_leaves(named: Sequence[Named], leaves: Sequence[str]) -> None:
    __tracebackhide__ = True
    there = list(dict.fromkeys(name for name, _ in named if name))
    for leaf in leaves:
        if there and leaf not in there:
            error = ValueError(f"no .grad of a leaf {leaf!r} is written; the leaves are {', '.join(there)}")
            raise loglessly(error)


def _copied(trace: Trace, copied: Sequence[Named]) -> AssertionError:
    reasons = [f"  the gradient of {name or 'a leaf'} is copied: {event.why}" for name, event in copied[:REASONS]]
    steps = lines(trace, [event for _, event in copied])
    return failed(trace, "\n".join(["a gradient is copied into .grad", *reasons, steps]), copied[0][1].seq)
