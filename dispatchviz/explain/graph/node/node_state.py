"""What a class of Nodes keeps for its formula, and whether that formula consists of recorded operations."""

from __future__ import annotations

import functools
from typing import NamedTuple


class NodeState(NamedTuple):
    """Of a generated class."""

    tensors: tuple[str, ...]
    """Its SavedVariables, by their names in Python."""
    values: tuple[str, ...]
    """Its plain values."""


@functools.cache
def node_state(name: str) -> NodeState | None:
    """None for a class that is written by hand, or by the user."""
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
"""Classes of PyTorch that keep something else than the model's: tensors and plain values more, plain values less."""
