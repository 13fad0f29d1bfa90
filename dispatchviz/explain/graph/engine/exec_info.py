"""``exec_info_``: which Nodes a pass for some gradients runs, and why not the others.

A Node whose ``topological_nr`` is below the smallest among those requested leads to none of them: no path goes from a
smaller number to a larger one. One comparison leaves out all that is behind it (``Engine::compute_dependencies``,
``GraphTask::init_to_execute``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Literal
from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backwards import Backward
from dispatchviz.explain.graph.graph_history import backward_around, history
from dispatchviz.explain.trace_index.trace_index import index

Verdict = Literal["requested", "captured", "topological_nr", "should_execute", "leads on"]
"""Why a Node runs or gives its gradient, or (the middle two) does not: below the minimum, or no path leads on."""

VERDICTS: tuple[Verdict, ...] = ("requested", "captured", "topological_nr", "should_execute", "leads on")


@dataclass(frozen=True, slots=True)
class ExecInfo:
    """The entry of one Node."""

    node: int
    needed: bool
    """``needed_``"""
    captures: tuple[tuple[int, int], ...]
    """(input_nr, index in the result) of each gradient that ``grad`` takes."""
    topological_nr: int
    reached: bool
    """The engine has met it; of a requested Node outside of the graph there is an entry as well."""

    @property
    def should_execute(self) -> bool:
        """``should_execute()``"""
        return self.needed or bool(self.captures)


class ExecInfoTable:
    """The entries of one pass; each is made when it is asked for."""

    def __init__(self, backward: Backward, event: ev.ExecInfoPopulated) -> None:
        self._backward, self._event = backward, event
        self.seq = event.seq
        """The step at which it was filled."""
        self.min_topo_nr = min_topo_nr(backward)
        self.unvisited = len(backward.pruned) - len(event.pruned)
        """Nodes behind those below the minimum: nobody has looked at them."""

    @cached_property
    def nodes(self) -> dict[Verdict, list[int]]:
        """The Nodes by what became of them, in order of discovery."""
        found: dict[Verdict, list[int]] = {verdict: [] for verdict in VERDICTS}
        pruned, requested = dict(self._event.pruned), self._requested
        for node in self._met:
            reason: Verdict | None = pruned.get(node)
            own: Verdict = "requested" if node in requested else "leads on"
            found[reason or ("captured" if node in self._captures else own)].append(node)
        return found

    @property
    def _requested(self) -> set[int]:
        """By ``backward(inputs=)``; what ``grad`` requests is captured."""
        event = self._backward.event
        return {node for node, _ in event.inputs} if event.accumulate else set()

    @property
    def _met(self) -> dict[int, None]:
        """A root that is counted by no edge is a Node as well; of several roots each is below a GraphRoot."""
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
        """The first ones of a kind."""
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
    """None if there is none as of the step: every Node that is reached runs."""
    backward = backward_around(trace, at)
    event = None if backward is None else backward.exec_info_at(at)
    if backward is None or event is None:
        return None
    if backward not in _tables:
        _tables[backward] = ExecInfoTable(backward, event)
    return _tables[backward]


def min_topo_nr(backward: Backward) -> int:
    """The smallest number among the requested Nodes; 0 if everything runs, or before it is known."""
    return backward.counted[0].min_topo_nr if backward.counted else 0


def topological_nr(trace: Trace, node: int, at: int) -> int:
    """That of a Node as of a step; 0 if the trace does not say."""
    edges, made = history(trace).edges(node, at), index(trace).nodes.get(node)
    return edges.topological_nr if edges is not None else made.topological_nr if made is not None else 0
