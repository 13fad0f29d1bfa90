"""The numbers of a tensor at a step, in recordings that have them, and the gradients that Nodes got and returned."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.graph_errors.iterations import on_line_in
from dispatchviz.explain.trace_index.lookups import between, events_between
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.explain.trace_index.tensor_numbers import end_of_numbers
from dispatchviz.explain.trace_index.trace_index import index

NOT_FINITE = re.compile(r"nan|-?inf")
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
    """Return a text of numbers, cut after one of them if it is long. It keeps the first NaN or infinity."""
    if len(numbers) <= LONGEST:
        return numbers
    head, found = numbers[:LONGEST].rpartition(", ")[0], NOT_FINITE.search(numbers)
    if found is None or found.end() <= len(head):
        return f"{head}, ...]"
    return f"{head}, ..., {found[0]}{', ...' if numbers[found.end() :].strip(']') else ''}]"


class Run(NamedTuple):
    """A run of a Node in a backward pass."""

    started: ev.NodeStarted
    end: int
    """Its last step."""
    gradients: tuple[int | None, ...]
    """The gradients that it returned, as far as they are known."""
    got: tuple[str, ...]
    """The numbers of the gradients that it received, as far as they are known."""
    returned: tuple[str, ...]


def runs(trace: Trace, started: ev.BackwardStarted) -> Iterator[Run]:
    """Yield the runs of Nodes in a backward pass, with numbers, in the order in which they end."""
    end = trace.ends[started.seq]
    begun = list(events_between(trace, ev.NodeStarted, started.seq, end))
    ends = _passed_on(trace, started, begun) if is_live(trace.header) else _finished(trace, started.seq, end)
    for node in sorted(begun, key=lambda each: ends.get(each.seq, _NO_END)[0]):
        if node.seq in ends:
            last, gradients = ends[node.seq]
            yield Run(node, last, gradients, _known(trace, node.gradients, last), _known(trace, gradients, end))


_End = tuple[int, tuple[int | None, ...]]
"""The last step of a run, and the gradients that it returned."""

_NO_END: _End = (-1, ())


def _finished(trace: Trace, begin: int, end: int) -> dict[int, _End]:
    """Return the recorded ends of the runs, by the step of their begin."""
    ends = events_between(trace, ev.NodeFinished, begin, end)
    return {each.parent: (each.seq, each.gradients) for each in ends if each.parent is not None}


def _passed_on(trace: Trace, started: ev.BackwardStarted, begun: list[ev.NodeStarted]) -> dict[int, _End]:
    """Return the ends of the runs in a recording of PyTorch. A Node returned the gradient that the next Node received,
    unless that is a sum, or a hook may have changed it.
    """
    hooked = {trace.columns.nodes[step] for step in between(trace, ev.HookRan, started.seq, trace.ends[started.seq])}
    received = {each.node: each.gradients for each in begun}
    edges = {each.node: _edges(trace, each.node) for each in begun}
    sources = Counter([*started.roots, *(edge for each in edges.values() for edge in each if edge is not None)])

    def passed(edge: tuple[int, int] | None) -> int | None:
        is_other = edge is None or sources[edge] > 1 or edge[0] in hooked
        gradients = () if edge is None or is_other else received.get(edge[0], ())
        return gradients[edge[1]] if edge is not None and edge[1] < len(gradients) else None

    return {each.seq: (trace.ends[each.seq], tuple(map(passed, edges[each.node]))) for each in begun}


def _edges(trace: Trace, node: int) -> tuple[tuple[int, int] | None, ...]:
    known = index(trace).edges.get(node)
    return () if known is None else tuple(known.edges)


def _known(trace: Trace, tensors: Iterable[int | None], at: int) -> tuple[str, ...]:
    return tuple(numbers for each in tensors if (numbers := last_numbers(trace, each, at)))
