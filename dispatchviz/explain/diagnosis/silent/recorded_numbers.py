"""The numbers of a tensor at a step, in recordings that have them, and the gradients that Nodes got and returned."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.graph_errors.iterations import on_line_in
from dispatchviz.explain.trace_index.lookups import events_between
from dispatchviz.explain.trace_index.tensor_numbers import end_of_numbers
from dispatchviz.explain.trace_index.trace_index import index

NOT_FINITE = re.compile(r"nan|inf")
NOT_ZERO = re.compile(r"[1-9]|nan|inf|True")

LONGEST = 48
"""The length at which a text of numbers is cut."""


def last_numbers(trace: Trace, tensor: int | None, at: int) -> str:
    """Return the last recorded numbers of a tensor, up to a step; empty if there are none."""
    if tensor is None:
        return ""
    steps = index(trace).steps_about(tensor, ev.NumbersRecorded)
    place = bisect_right(steps, at)
    event = trace[steps[place - 1]] if place else None
    return event.numbers if isinstance(event, ev.NumbersRecorded) else ""


def until(trace: Trace) -> str:
    """Return ``Values of tensors were recorded only up to line 7 in iteration 33.``; empty if they were recorded to the
    end.
    """
    end = end_of_numbers(trace)
    return "" if end is None else f"Values of tensors were recorded only up to {on_line_in(trace, end, text=False)}."


def not_finite(numbers: str) -> bool:
    """Return whether a text of numbers has NaN or infinity."""
    return NOT_FINITE.search(numbers) is not None


def all_zero(numbers: str) -> bool:
    """Return whether a text of numbers has zeros only."""
    return bool(numbers) and NOT_ZERO.search(re.sub(r"e[-+]\d+", "", numbers)) is None


def short(numbers: str) -> str:
    """Return a text of numbers, cut after one of them if it is long."""
    return numbers if len(numbers) <= LONGEST else f"{numbers[:LONGEST].rpartition(', ')[0]}, ...]"


class Run(NamedTuple):
    """A run of a Node in a backward pass."""

    started: ev.NodeStarted
    finished: ev.NodeFinished
    got: tuple[str, ...]
    """The numbers of the gradients that it received, as far as they are known."""
    returned: tuple[str, ...]


def runs(trace: Trace, started: ev.BackwardStarted) -> Iterator[Run]:
    """Yield the runs of Nodes in a backward pass, with numbers, in order. A recording of PyTorch has none."""
    open_nodes: dict[int, ev.NodeStarted] = {}
    end = trace.ends[started.seq]
    for event in events_between(trace, ev.NodeStarted, started.seq, end):
        open_nodes[event.seq] = event
    for finished in events_between(trace, ev.NodeFinished, started.seq, end):
        node = open_nodes.get(finished.parent if finished.parent is not None else -1)
        if node is not None:
            got = _known(trace, node.gradients, finished.seq)
            yield Run(node, finished, got, _known(trace, finished.gradients, finished.seq))


def _known(trace: Trace, tensors: Iterable[int | None], at: int) -> tuple[str, ...]:
    return tuple(numbers for each in tensors if (numbers := last_numbers(trace, each, at)))
