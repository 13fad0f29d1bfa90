"""``exec_info_``: the Nodes that run in a pass for selected gradients, and the reasons why others do not.

A Node whose ``topological_nr`` is below the smallest one among the requested Nodes leads to none of them, because no
path goes from a smaller number to a larger one. So one comparison excludes all Nodes behind it
(``Engine::compute_dependencies``, ``GraphTask::init_to_execute``).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Literal
from weakref import WeakKeyDictionary

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backwards import Backward
from dispatchviz.explain.graph.graph_history import backward_around, history
from dispatchviz.explain.trace_index.trace_index import index

Verdict = Literal["requested", "captured", "topological_nr", "should_execute", "leads on"]
"""The reason why a Node runs or gives its gradient. The middle two are reasons why it does not: it is below the
minimum, or no path leads to a requested Node.
"""

VERDICTS: tuple[Verdict, ...] = ("requested", "captured", "topological_nr", "should_execute", "leads on")


class ExecInfo(Struct, frozen=True):
    """The entry of a Node."""

    node: int
    needed: bool
    """``needed_``"""
    captures: tuple[tuple[int, int], ...]
    """The pair (input_nr, index in the result) of each gradient that ``grad`` takes."""
    topological_nr: int
    reached: bool
    """True if the engine has reached it. A requested Node outside the graph has an entry too."""

    @property
    def should_execute(self) -> bool:
        """``should_execute()``"""
        return self.needed or bool(self.captures)


class ExecInfoTable:
    """The entries of a pass, each created on demand."""

    def __init__(self, backward: Backward, event: ev.ExecInfoPopulated) -> None:
        self._backward, self._event = backward, event
        self.seq = event.seq
        """The step at which the table was filled."""
        self.min_topo_nr = min_topo_nr(backward)
        self.unvisited = len(backward.pruned) - len(event.pruned)
        """The Nodes behind those below the minimum, which the engine did not visit."""

    @cached_property
    def nodes(self) -> dict[Verdict, list[int]]:
        """The Nodes by verdict, in the order of discovery."""
        found: dict[Verdict, list[int]] = {verdict: [] for verdict in VERDICTS}
        pruned, requested = dict(self._event.pruned), self._requested
        for node in self._met:
            reason: Verdict | None = pruned.get(node)
            own: Verdict = "requested" if node in requested else "leads on"
            found[reason or ("captured" if node in self._captures else own)].append(node)
        return found

    @property
    def _requested(self) -> set[int]:
        """The Nodes requested with ``backward(inputs=)``. The gradients that ``grad`` requests are captured instead."""
        event = self._backward.event
        return {node for node, _ in event.inputs} if event.accumulate else set()

    @property
    def _met(self) -> dict[int, None]:
        """The Nodes that the engine reached. A root without incoming edges counts too; several roots are below a
        GraphRoot.
        """
        roots = self._backward.event.roots
        first = [node for node, _ in roots] if len(roots) == 1 else []
        named = (node for node, _, _ in self._event.captures)
        return dict.fromkeys((*first, *self._backward.counts, *self._event.needed, *named))

    @cached_property
    def _captures(self) -> dict[int, tuple[tuple[int, int], ...]]:
        found: dict[int, tuple[tuple[int, int], ...]] = {}
        for node, input_nr, position in self._event.captures:
            found[node] = (*found.get(node, ()), (input_nr, position))
        return found

    def entries(self, trace: Trace, verdict: Verdict, most: int) -> Iterator[ExecInfo]:
        """Yield the first entries with a verdict."""
        for node in islice(self.nodes[verdict], most):
            yield ExecInfo(
                node,
                node in self._backward.needed,
                self._captures.get(node, ()),
                topological_nr(trace, node, self.seq),
                node in self._backward.nodes,
            )


_tables: WeakKeyDictionary[Backward, ExecInfoTable] = WeakKeyDictionary()


def exec_info_at(trace: Trace, at: int) -> ExecInfoTable | None:
    """Return the table at a step, or None if it is empty and every reached Node runs."""
    backward = backward_around(trace, at)
    event = None if backward is None else backward.exec_info_at(at)
    if backward is None or event is None:
        return None
    if backward not in _tables:
        _tables[backward] = ExecInfoTable(backward, event)
    return _tables[backward]


def min_topo_nr(backward: Backward) -> int:
    """Return the smallest number among the requested Nodes; 0 if everything runs, or if it is not yet known."""
    return backward.counted[0].min_topo_nr if backward.counted else 0


def topological_nr(trace: Trace, node: int, at: int) -> int:
    """Return the topological number of a Node at a step; 0 if the trace does not have it."""
    edges, made = history(trace).edges(node, at), index(trace).nodes.get(node)
    return edges.topological_nr if edges is not None else made.topological_nr if made is not None else 0
