"""Events of the forward pass that build the backward graph: Nodes, their edges, the values that they save, histories.

The code is in ``torch/csrc/autograd/node.h``, ``torch/csrc/autograd/saved_variable.h`` and
``torch/csrc/autograd/variable.h``.
"""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Event
from dispatchviz.core.record.events.field_types import (
    CounterNumber,
    EdgeNumber,
    NodeNumber,
    OutputNumber,
    SequenceNumber,
    TensorNumber,
    ThreadNumber,
    TopologicalNumber,
    Version,
)

NoNodeReason = Literal[
    "grad mode is off",
    "no input requires grad",
    "never differentiable",
    "detached",
    "the result is an argument that the operator wrote to",
]
"""The reason why an autograd kernel records no Node. The last one is that of the fallback for operators without an
autograd kernel.
"""


class NodeCreated(Event, frozen=True):
    """A backward Node was constructed (``torch/csrc/autograd/node.h``)."""

    node: NodeNumber
    """Number of the Node. Nodes are counted from 0, in order of appearance."""
    name: str
    """``Node::name``: ``AddBackward0``; for handwritten Nodes the full name, ``torch::autograd::AccumulateGrad``."""
    sequence_nr: SequenceNumber
    """``Node::sequence_nr``, the engine's priority, counted per thread; 18446744073709551615 (UINT64_MAX) for
    AccumulateGrad.
    """
    topological_nr: TopologicalNumber
    """``Node::topological_nr`` at construction, the length of the longest path to a leaf. ``EdgesCollected`` has the
    number that the edges give.
    """
    thread: ThreadNumber
    """Id of the constructing thread (``Node::thread_id``). The main thread is 1."""
    known: bool = False
    """True if it was constructed before the recording began, and appears here for the first time."""


class EdgesCollected(Event, frozen=True):
    """The next edges of a Node were set (``collect_next_edges``)."""

    node: NodeNumber
    """Number of the Node."""
    edges: tuple[tuple[NodeNumber, OutputNumber] | None, ...]
    """For each forward input: Node number and input_nr to which the edge leads, or None for an empty edge."""
    inputs: tuple[tuple[str, TensorNumber | None], ...]
    """The forward argument behind each edge: parameter name, tensor number (None: undefined); empty if unknown."""
    topological_nr: TopologicalNumber
    """``Node::topological_nr`` afterwards: one more than the largest among the Nodes to which its edges lead; 0 without
    any.
    """


class AttributeSaved(Event, frozen=True):
    """A Node saved a plain value."""

    node: NodeNumber
    """Number of the Node."""
    name: str
    """Name of the Node's member: ``alpha``, ``self_sym_sizes``. PyTorch's attribute has this name after ``_saved_``."""
    value: str
    """The value as text: ``1``, ``(2, 3)``."""


class VariableSaved(Event, frozen=True):
    """A Node saved a tensor for its formula (``SavedVariable``)."""

    node: NodeNumber
    """Number of the Node."""
    name: str
    """Name of the Node's member, an argument's or ``result``: ``self``, ``tensors[0]``. PyTorch's attribute has this
    name after ``_saved_``.
    """
    tensor: TensorNumber | None
    """Number of the tensor; None for an undefined tensor."""
    version: Version
    """The tensor's version at that moment; -1 if undefined."""
    is_output: bool
    """True if it is an output of the operation. It is then kept without its ``grad_fn``, which is the Node itself and
    would make a reference cycle.
    """
    counter: CounterNumber = -1
    """Number of the tensor's version counter (``VersionBumped``); -1 if undefined."""
    packed: bool = False
    """True if a hook packed it: the hook's result is kept instead, and no version is compared."""


class VariableNotSaved(Event, frozen=True):
    """A tensor that only one formula uses was not saved, because the edge of that formula is empty."""

    node: NodeNumber
    """Number of the Node."""
    name: str
    """Name of the Node's member that stays empty: ``other``."""
    edge: EdgeNumber
    """Index of the empty edge among the Node's edges, from 0."""


class AccumulatorMade(Event, frozen=True):
    """A leaf got its AccumulateGrad. The tensor holds it weakly; graphs hold it (``impl::grad_accumulator``)."""

    node: NodeNumber
    """Number of the AccumulateGrad."""
    tensor: TensorNumber
    """Number of the leaf."""


class HistorySet(Event, frozen=True):
    """A result got its grad_fn (``set_history``)."""

    tensor: TensorNumber
    """Number of the result."""
    node: NodeNumber
    """Number of the Node that is its ``grad_fn``."""
    output_nr: OutputNumber
    """``output_nr`` of the result: the index, from 0, of the Node's input that receives its gradient."""


class HistoryRebased(Event, frozen=True):
    """A tensor got a new grad_fn, since it, its base or a view of its base was written in place
    (``rebase_history``).
    """

    tensor: TensorNumber
    """Number of the tensor: one that was written to, the base of a view that was, or a view whose base was."""
    node: NodeNumber
    """Number of the Node that is its ``grad_fn`` afterwards."""
    output_nr: OutputNumber
    """``output_nr`` of the tensor: the index, from 0, of the Node's input that receives its gradient."""


class NodeDeleted(Event, frozen=True):
    """The last reference to a Node is gone. The Node is freed with the values that it saved
    (``Node::release_resources``).

    A Node that Python's garbage collector frees has no such event. Neither has one that is freed after the recording.
    """

    node: NodeNumber
    """Number of the Node."""
    by: NodeNumber | None = None
    """Number of the Node whose edge was the last reference: that Node is freed, and this one with it. None: the last
    reference was not an edge but, for example, a tensor's ``grad_fn``, a Python variable, or the engine's.
    """


class NoNodeMade(Event, frozen=True):
    """The autograd kernel recorded no Node."""

    operator: str
    """Qualified name of the operator: ``aten::add.Tensor``."""
    why: NoNodeReason
    """The reason why it recorded none."""
