"""The state of a Node: the values that its class stores for the formula, and ``has_parent_``, which is set when its
topological number is read.
"""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import backward_around, history


class NodeState(NamedTuple):
    """The state of a generated class."""

    tensors: tuple[str, ...]
    """The names in Python of its SavedVariables."""
    values: tuple[str, ...]
    """Its plain values."""


@functools.cache
def node_state(name: str) -> NodeState | None:
    """Return the state of a class, or None if it is written by hand or by the user."""
    from dispatchviz.core.generated import nodes

    kind = getattr(nodes, name, None)
    if kind is None or not hasattr(kind, "saved_variables"):
        return None
    tensors = tuple(kind.saved_variables)
    slots = {slot for base in kind.__mro__ for slot in base.__dict__.get("__slots__", ()) if base.__module__ != _BASE}
    values = tuple(sorted(slots - {f"{tensor}_" for tensor in tensors}))
    added_tensors, added, left_out = _OTHERWISE.get(name, ((), (), ()))
    values = tuple(sorted({*values, *added} - set(left_out)))
    return NodeState((*tensors, *added_tensors), tuple(value for value in values if not value.startswith("_")))


_BASE = "dispatchviz.core.autograd.graph.node"

_OTHERWISE: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "AddmmBackward0": ((), ("mat1_layout", "mat2_layout"), ()),
    "BatchNormBackwardBackward0": (("reserve",), (), ()),
    "BernoulliBackward1": ((), ("p_info",), ("p_geometry", "p_options")),
    "HardswishBackwardBackward0": ((), ("self_options",), ()),
    "LogSoftmaxBackwardDataBackward0": ((), (), ("output_scalar_type",)),
    "MmBackward0": ((), ("mat2_layout", "self_layout"), ()),
    "PreluKernelBackwardBackward0": ((), ("grad_output_options", "self_info", "self_options", "weight_options"), ()),
    "SoftmaxBackwardDataBackward0": ((), (), ("output_scalar_type",)),
}
"""Classes of PyTorch whose state differs from the model's: additional tensors, additional plain values, missing plain
values.
"""


EDGES_LOOKED_AT = 256
"""The number of later Nodes with edges that are searched for one that leads to a new Node."""


def has_parent(trace: Trace, node: int, at: int) -> bool | None:
    """Return ``has_parent_``, or None if too many Nodes would have to be read."""
    return _met_by_engine(trace, node, at) or _has_edge(trace, node, at)


def _met_by_engine(trace: Trace, node: int, at: int) -> bool:
    """Return whether the Node has waited in a queue or is a root of the running pass, whose edges are counted first."""
    columns, steps = trace.columns, history(trace).events.steps(node)
    met = {columns.code(kind) for kind in (ev.NodeQueued, ev.DependencyMet)}
    if any(columns.kinds[step] in met for step in steps[: bisect_right(steps, at)]):
        return True
    backward = backward_around(trace, at)
    if backward is None or backward.counted_at(at) is None:
        return False
    return any(root == node for root, _ in backward.event.roots)


def _has_edge(trace: Trace, node: int, at: int) -> bool | None:
    steps = trace.steps_of(ev.EdgesCollected)
    later = steps[bisect_left(steps, history(trace).events.first(node)) : bisect_right(steps, at)]
    for step in later[:EDGES_LOOKED_AT]:
        event = trace[step]
        if isinstance(event, ev.EdgesCollected) and any(edge and edge[0] == node for edge in event.edges):
            return True
    return None if len(later) > EDGES_LOOKED_AT else False
