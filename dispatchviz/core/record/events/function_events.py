"""Events of custom Functions: the user's forward, and its outputs (``torch.autograd.Function``)."""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Container, Event
from dispatchviz.core.record.events.field_types import LineNumber, NodeNumber, Position, TensorNumber
from dispatchviz.core.record.events.tensor_events import CreationMeta

OutputHistory = Literal["set", "rebased", "viewed", "detached", "detached in place", "plain"]
"""The treatment of an output of a Function. ``set``: it gets a history. ``rebased``: it gets a new history, since it
was written to. ``viewed``: it is an input, and a view of it is returned. ``detached``, ``detached in place``: it is
detached, as a new tensor or in place. ``plain``: it is returned unchanged.
"""

OutputMark = Literal["dirty", "non-differentiable", ""]
"""The mark that the forward gave an output (``mark_dirty``, ``mark_non_differentiable``); empty: none."""


class FunctionEntered(Container, frozen=True):
    """``Function.apply`` runs the user's forward, with grad mode off. The event is open until the forward returns.

    The code is in ``torch/csrc/autograd/python_function.cpp``. Its Node and the edges have been created already.
    """

    function: str
    """Name of the class."""
    node: NodeNumber
    """Number of the Node."""
    needs_input_grad: tuple[bool, ...]
    """For each argument, True if it is a tensor that requires grad (``ctx.needs_input_grad``)."""
    recorded: bool
    """True if grad mode is on and an argument requires grad: the forward's results get a history."""
    setup_context: bool
    """True if the forward gets no ctx and ``setup_context`` follows it, within this event."""
    file: str
    """The file of the user's forward; empty if it has no Python code."""
    line: LineNumber
    """First line of the forward in ``file``, from 1; 0 if it has no Python code."""
    end_line: LineNumber
    """Last line of the forward in ``file``; 0 if it has no Python code."""


class FunctionOutput(Event, frozen=True):
    """A tensor that a Function's forward returned got its history (``torch/csrc/autograd/custom_function.cpp``)."""

    node: NodeNumber
    """Number of the Function's Node."""
    position: Position
    """Index among the returned values, from 0."""
    returned: TensorNumber
    """Number of the tensor that the forward returned."""
    result: TensorNumber
    """Number of the tensor that the caller gets: the same one, or a view or detached alias of it."""
    how: OutputHistory
    """The treatment of the output."""
    marked: OutputMark
    """The mark that the forward gave it: by ``ctx.mark_dirty``, by ``ctx.mark_non_differentiable``, or none."""
    is_input: bool
    """True if the forward got this same tensor as an argument."""
    creation_meta: CreationMeta | Literal[""]
    """If the result is a view: how it was created, which decides whether it may be written to; else empty."""
