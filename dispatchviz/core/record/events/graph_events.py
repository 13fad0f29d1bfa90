"""Events of the forward pass that build the backward graph: Nodes, their edges, what they save, histories.

``torch/csrc/autograd/node.h``, ``torch/csrc/autograd/saved_variable.h``, ``torch/csrc/autograd/variable.h``.
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
"""Why an autograd kernel records nothing; the last one is the fallback's for operators without an autograd kernel."""


class NodeCreated(Event, frozen=True):
    """A backward Node was constructed (``torch/csrc/autograd/node.h``)."""

    node: NodeNumber
    """Number of the Node: they are counted from 0, in order of appearance."""
    name: str
    """``Node::name``: ``AddBackward0``; of handwritten Nodes in full, ``torch::autograd::AccumulateGrad``."""
    sequence_nr: SequenceNumber
    """``Node::sequence_nr``, the engine's priority: counted per thread; 18446744073709551615 (UINT64_MAX) for
    AccumulateGrad."""
    topological_nr: TopologicalNumber
    """``Node::topological_nr``, length of the longest path to a leaf, at construction; ``EdgesCollected`` has the
    number that the edges give."""
    thread: ThreadNumber
    """Id of the constructing thread (``Node::thread_id``); the main thread is 1."""
    known: bool = False
    """It was constructed before the recording began, and appears here for the first time."""


class EdgesCollected(Event, frozen=True):
    """The next edges of a Node were set (``collect_next_edges``)."""

    node: NodeNumber
    """Number of the Node."""
    edges: tuple[tuple[NodeNumber, OutputNumber] | None, ...]
    """Per forward input: Node number and input_nr that the edge leads to, or None for an empty edge."""
    inputs: tuple[tuple[str, TensorNumber | None], ...]
    """The forward argument behind each edge: parameter name, tensor number (None: undefined); empty if unknown."""
    topological_nr: TopologicalNumber
    """``Node::topological_nr`` from here on: one more than the largest among the Nodes that its edges lead to; 0
    without any."""


class AttributeSaved(Event, frozen=True):
    """A Node saved a plain value."""

    node: NodeNumber
    """Number of the Node."""
    name: str
    """Name of the Node's member: ``alpha``, ``self_sym_sizes``; PyTorch's attribute is ``_saved_`` and this."""
    value: str
    """The value as text: ``1``, ``(2, 3)``."""


class VariableSaved(Event, frozen=True):
    """A Node saved a tensor for its formula (``SavedVariable``)."""

    node: NodeNumber
    """Number of the Node."""
    name: str
    """Name of the Node's member, an argument's or ``result``: ``self``, ``tensors[0]``; PyTorch's attribute is
    ``_saved_`` and this."""
    tensor: TensorNumber | None
    """Number of the tensor; None: an undefined tensor."""
    version: Version
    """The tensor's version at that moment; -1 if undefined."""
    is_output: bool
    """It is an output of the operation: it is kept without its ``grad_fn``, the Node itself, which would be a reference
    cycle."""
    counter: CounterNumber = -1
    """Number of the version counter that the tensor has (``VersionBumped``); -1 if undefined."""
    packed: bool = False
    """A hook packed it: what the hook returned is kept instead, and no version is compared."""


class VariableNotSaved(Event, frozen=True):
    """A tensor that only one formula uses was not saved, because that formula's edge is empty."""

    node: NodeNumber
    """Number of the Node."""
    name: str
    """Name of the Node's member that stays empty: ``other``."""
    edge: EdgeNumber
    """Index of the empty edge among the Node's edges, from 0."""


class AccumulatorMade(Event, frozen=True):
    """A leaf got its AccumulateGrad; the tensor holds it weakly, graphs hold it (``impl::grad_accumulator``)."""

    node: NodeNumber
    """Number of the AccumulateGrad."""
    tensor: TensorNumber
    """Number of the leaf."""


class HistorySet(Event, frozen=True):
    """``set_history``: a result got its grad_fn."""

    tensor: TensorNumber
    """Number of the result."""
    node: NodeNumber
    """Number of the Node that is its ``grad_fn``."""
    output_nr: OutputNumber
    """``output_nr`` of the result: index, from 0, of the Node's input that its gradient goes to."""


class HistoryRebased(Event, frozen=True):
    """``rebase_history``: a tensor got a new grad_fn, since it, its base or a view of that was written in place."""

    tensor: TensorNumber
    """Number of the tensor that was written to, of the base of a view that was, or of a view whose base was."""
    node: NodeNumber
    """Number of the Node that is its ``grad_fn`` from here on."""
    output_nr: OutputNumber
    """``output_nr`` of the tensor: index, from 0, of the Node's input that its gradient goes to."""


class NodeDeleted(Event, frozen=True):
    """The last reference to a Node is gone, and it is freed with what it saved (``Node::release_resources``).

    What Python's garbage collector frees has no such event, nor what is freed after the recording.
    """

    node: NodeNumber
    """Number of the Node."""
    by: NodeNumber | None = None
    """Number of the Node whose edge was the last reference: that one is freed, and takes this one along. None: the last
    reference was no edge but a tensor's ``grad_fn``, a Python variable, the engine's."""


class NoNodeMade(Event, frozen=True):
    """The autograd kernel recorded nothing."""

    operator: str
    """Qualified name of the operator: ``aten::add.Tensor``."""
    why: NoNodeReason
    """Why it recorded nothing."""
