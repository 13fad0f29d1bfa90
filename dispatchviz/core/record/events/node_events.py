"""Events of a Node's members that change apart from its making: its number, its metadata, inputs without a tensor.

``torch/csrc/autograd/node.h``, ``torch/csrc/autograd/anomaly_mode.h``.
"""

from __future__ import annotations

from dispatchviz.core.record.events.event import Event
from dispatchviz.core.record.events.field_types import NodeNumber, OutputNumber, SequenceNumber


class SequenceNumberSet(Event, frozen=True):
    """``Node::set_sequence_nr``: the Node has another priority in the engine."""

    node: NodeNumber
    """Number of the Node."""
    before: SequenceNumber
    """Its sequence number until then."""
    sequence_nr: SequenceNumber
    """Its sequence number from here on; the thread's counter stays as it is."""


class UndefinedInputAdded(Event, frozen=True):
    """``Node::add_input_metadata(undefined_input)``: a placeholder, for an output that is undefined."""

    node: NodeNumber
    """Number of the Node."""
    input_nr: OutputNumber
    """Index of the input, from 0."""


class StackStored(Event, frozen=True):
    """``AnomalyMetadata::store_stack``: in anomaly mode a Node keeps the Python stack of its creation."""

    node: NodeNumber
    """Number of the Node."""
    frame: str
    """The innermost frame of the program, as ``traceback`` prints it; empty if there is none."""


class ParentAssigned(Event, frozen=True):
    """``Node::assign_parent``: in anomaly mode a Node that is made while another one is evaluated remembers that."""

    node: NodeNumber
    """Number of the Node that is made."""
    parent_node: NodeNumber
    """Number of the Node that is being evaluated (``get_current_node``)."""
