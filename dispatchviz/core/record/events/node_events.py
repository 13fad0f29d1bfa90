"""Events of a Node's members that change after its creation: its number, its metadata, inputs without a tensor.

The code is in ``torch/csrc/autograd/node.h`` and ``torch/csrc/autograd/anomaly_mode.h``.
"""

from __future__ import annotations

from dispatchviz.core.record.events.event import Event
from dispatchviz.core.record.events.field_types import NodeNumber, OutputNumber, SequenceNumber


class SequenceNumberSet(Event, frozen=True):
    """A Node got another priority in the engine (``Node::set_sequence_nr``)."""

    node: NodeNumber
    """Number of the Node."""
    before: SequenceNumber
    """Its sequence number before."""
    sequence_nr: SequenceNumber
    """Its sequence number afterwards. The thread's counter does not change."""


class UndefinedInputAdded(Event, frozen=True):
    """A Node got a placeholder for an output that is undefined (``Node::add_input_metadata(undefined_input)``)."""

    node: NodeNumber
    """Number of the Node."""
    input_nr: OutputNumber
    """Index of the input, from 0."""


class StackStored(Event, frozen=True):
    """A Node stored the Python stack of its creation, in anomaly mode (``AnomalyMetadata::store_stack``)."""

    node: NodeNumber
    """Number of the Node."""
    frame: str
    """The innermost frame of the program, as ``traceback`` prints it; empty if there is none."""


class ParentAssigned(Event, frozen=True):
    """A Node that is created while another one is evaluated stored that Node, in anomaly mode
    (``Node::assign_parent``).
    """

    node: NodeNumber
    """Number of the Node that is created."""
    parent_node: NodeNumber
    """Number of the Node that is being evaluated (``get_current_node``)."""
