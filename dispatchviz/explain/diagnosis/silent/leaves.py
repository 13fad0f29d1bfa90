"""The leaves that a graph leads to, and those of them that get a gradient."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.words import last_name
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed

MOST = 20_000
"""The number of Nodes that are read."""

NAMED = 3
"""The number of leaves that are named."""


def leaves_behind(trace: Trace, roots: Iterable[int], without: Collection[int] = ()) -> list[int]:
    """Return the leaves that the edges of some Nodes lead to, in order of discovery, without those that the Nodes in
    ``without`` lead to.
    """
    known, front = index(trace), [node for node in roots if node not in without]
    found, seen = [], set(front)
    while front and len(seen) < MOST:
        node = front.pop()
        made = known.accumulators.get(node)
        if made is not None:
            found.append(made.tensor)
        edges = known.edges.get(node)
        following = [] if edges is None else [edge[0] for edge in edges.edges if edge is not None]
        new = [each for each in dict.fromkeys(following) if each not in seen and each not in without]
        seen.update(new)
        front += new[::-1]
    return list(dict.fromkeys(found))


def gets_gradient(trace: Trace, leaf: int, until: int | None = None) -> bool:
    """Return whether a backward pass wrote to the ``.grad`` of a leaf, up to a step."""
    steps = index(trace).steps_about(leaf, ev.GradientAccumulated)
    return len(steps) > 0 and (until is None or steps[0] <= until)


def named(trace: Trace, tensors: Sequence[int], at: int) -> str:
    """Return names: ``net.weight and net.bias``; of many the first ones: ``a, b, c and 4 more``."""
    names = [last_name(trace, each, at) for each in tensors[:NAMED]]
    more = [f"{len(tensors) - NAMED} more"] if len(tensors) > NAMED else []
    return listed([*names, *more])
