"""How gradients get into ``.grad``: stolen, or copied, or added to what is there."""

from __future__ import annotations

from dispatchviz.core.record.events import GradientAccumulated
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.testing.failures import failed, lines, still
from dispatchviz.testing.graph_words import plain_name

COPIES = ("copied",)
"""What makes a copy of a gradient that has arrived."""


def no_copy_in_accumulate(trace: Trace, *leaves: str) -> bool:
    """No gradient is copied on its way into ``.grad``, of all leaves or of those named; True.

    AssertionError also if no ``.grad`` of theirs is written at all; ValueError for a name that no leaf has.
    """
    __tracebackhide__ = True
    quiet = still(trace)
    written = [quiet[step] for step in quiet.steps_of(GradientAccumulated)]
    named = [(plain_name(quiet, event.tensor, event.seq), event) for event in written if isinstance(event, GradientAccumulated)]
    there = list(dict.fromkeys(name for name, _ in named if name))
    for leaf in leaves:
        if leaf not in there and there:
            raise ValueError(f"no .grad of a leaf {leaf!r} is written; the leaves are {', '.join(there)}")
    wanted = [(name, event) for name, event in named if not leaves or name in leaves]
    if not wanted:
        raise failed(trace, f"no .grad{' of ' * bool(leaves)}{' or '.join(leaves)} is written")
    copied = [(name, event) for name, event in wanted if event.how in COPIES]
    if copied:
        reasons = [f"  the gradient of {name or 'a leaf'} is {event.how}: {event.why}" for name, event in copied[:3]]
        steps = lines(trace, [event for _, event in copied])
        raise failed(trace, "\n".join(["a gradient is copied into .grad", *reasons, steps]), copied[0][1].seq)
    return True
