"""The levels of golden logs: how much of the calls of PyTorch's own kernels a log contains.

A library's log should change when the library changes. PyTorch's kernels call other operators, and which ones differs
between releases. The levels ``calls`` and ``keys`` leave these inner calls out, with the Nodes that they create.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from dispatchviz.core.record.events import (
    AnyEvent,
    BackwardStarted,
    Dispatched,
    ErrorRaised,
    GradientAccumulated,
    HookRan,
    KernelSelected,
    NodeCreated,
    NodeStarted,
    TensorFormatted,
    VariableSaved,
)
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.table.pytorch_registrations import pytorch_operators
from dispatchviz.explain.trace_index.display_names import plain_node

GoldenLevel = Literal["calls", "keys", "all"]
LEVELS: dict[str, str] = {
    "calls": "the program's own calls, and its Nodes",
    "keys": "the program's own calls with their keys and kernels, and its Nodes",
    "all": "calls, created Nodes, and the Nodes that the engine runs",
}
"""The levels, from few lines to all, with the words for their content."""

SAME_ON_BOTH: GoldenLevel = "calls"
"""The level at which the model and an installed PyTorch give the same log. A recording of an installed PyTorch meets a
Node only when its kernel has returned, and after the hooks before it; it sees no error that the program handles.
"""

ACCUMULATE = "AccumulateGrad"
WARNS = "WarnNotImplemented"
"""The Node of an operator without an autograd kernel. An installed PyTorch may replace it before it can be seen."""


class OwnEvents:
    """The events of a trace that belong to the program's own calls, at a level."""

    def __init__(self, trace: Trace, level: GoldenLevel) -> None:
        self._trace, self._level = trace, level
        self._own: dict[int, bool] = {}
        """For each call and redispatch that was met, whether it is the program's own."""
        self._nodes: set[int] = set()
        """The Nodes that the level leaves out."""

    def has(self, event: AnyEvent) -> bool:
        """Return whether the level contains an event. Ask about all events, in order."""
        if self._level == "all":
            return True
        match event:
            case Dispatched():
                own = self._own[event.seq] = self._is_own(event)
                return own and (not event.is_redispatch or self._level == "keys")
            case NodeCreated():
                own = self._is_within_own(event)
                if not own:
                    self._nodes.add(event.node)
                return own and (self._level == "keys" or plain_node(event.name) not in (ACCUMULATE, WARNS))
            case NodeStarted():
                name = plain_node(event.name)
                return name == ACCUMULATE or (event.node not in self._nodes and (self._level, name) != ("calls", WARNS))
            case KernelSelected():
                return self._level == "keys" and self._is_within_own(event)
            case VariableSaved():
                return self._level == "keys" and event.node not in self._nodes
            case GradientAccumulated() | HookRan() | ErrorRaised():
                return self._level == "keys"
            case BackwardStarted():
                return True
        return False

    def _is_own(self, event: Dispatched) -> bool:
        """Return whether the program makes a call: one of its own operators, or not within another call, a Node or the
        printing of a tensor. A redispatch belongs to its call.
        """
        around = list(self._trace.ancestors(event.seq))
        if event.is_redispatch:
            outer = next((each for each in around if isinstance(each, Dispatched)), None)
            return outer is not None and outer.operator == event.operator and self._own.get(outer.seq, False)
        return is_own_operator(event.operator) or not any(isinstance(each, INNER) for each in around)

    def _is_within_own(self, event: AnyEvent) -> bool:
        """Return whether no call is around an event, or the nearest one is the program's own."""
        around = (each for each in self._trace.ancestors(event.seq) if isinstance(each, INNER))
        nearest = next(around, None)
        return nearest is None or self._own.get(nearest.seq, False)


INNER = (Dispatched, NodeStarted, BackwardStarted, TensorFormatted)
"""Events that make the calls within them inner calls."""


def is_own_operator(name: str) -> bool:
    """Return whether an operator belongs to a library other than PyTorch."""
    return name.partition("::")[0] not in _namespaces()


@cache
def _namespaces() -> frozenset[str]:
    return frozenset(name.partition("::")[0] for name in pytorch_operators())
