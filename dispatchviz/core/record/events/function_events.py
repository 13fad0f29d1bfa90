"""Events of custom Functions: the user's forward, and its outputs (``torch.autograd.Function``)."""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Container, Event
from dispatchviz.core.record.events.field_types import LineNumber, NodeNumber, Position, TensorNumber
from dispatchviz.core.record.events.tensor_events import CreationMeta

OutputHistory = Literal["set", "rebased", "viewed", "detached", "detached in place", "plain"]
"""What an output of a Function gets: a history; a new history, since it was written to; it is an input, of which a view
is returned; it is detached, as a new tensor or in place; nothing, it is returned as it is."""

OutputMark = Literal["dirty", "non-differentiable", ""]
"""What the forward said of an output (``mark_dirty``, ``mark_non_differentiable``); empty: nothing."""


class FunctionEntered(Container, frozen=True):
    """``Function.apply``: the user's forward runs, with grad mode off; open until it returns.

    ``torch/csrc/autograd/python_function.cpp``. Its Node, and the edges, have been made.
    """

    function: str
    """Name of the class."""
    node: NodeNumber
    """Number of the Node."""
    needs_input_grad: tuple[bool, ...]
    """Per argument: whether it is a tensor that requires grad (``ctx.needs_input_grad``)."""
    recorded: bool
    """Grad mode is on and an argument requires grad: what the forward returns gets a history."""
    setup_context: bool
    """The forward gets no ctx; ``setup_context`` follows it, within this event."""
    file: str
    """The file of the user's forward; empty if it has no Python code."""
    line: LineNumber
    """First line of the forward in ``file``, from 1; 0 if it has no Python code."""
    end_line: LineNumber
    """Last line of the forward in ``file``; 0 if it has no Python code."""


class FunctionOutput(Event, frozen=True):
    """A tensor that a Function's forward returned has got its history (``torch/csrc/autograd/custom_function.cpp``)."""

    node: NodeNumber
    """Number of the Function's Node."""
    position: Position
    """Index among the returned values, from 0."""
    returned: TensorNumber
    """Number of the tensor that the forward returned."""
    result: TensorNumber
    """Number of the tensor that the caller gets: the same, or a view or detached alias of it."""
    how: OutputHistory
    """What it got."""
    marked: OutputMark
    """How the forward marked it: by ``ctx.mark_dirty``, by ``ctx.mark_non_differentiable``, or not."""
    is_input: bool
    """The forward got this very tensor as an argument."""
    creation_meta: CreationMeta | Literal[""]
    """If the result is a view: how it was made, which says whether it may be written to; else empty."""
