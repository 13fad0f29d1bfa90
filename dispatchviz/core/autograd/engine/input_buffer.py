"""InputBuffer: accumulation of gradients when several edges lead to one input (``input_buffer.cpp``).

A buffer is a list with a slot per input of the Node. An undefined gradient is ignored, the first defined one is stored,
later ones are added to it.

Rule 1: a gradient that has another reference never changes: memory is reused only if the buffer holds the only
reference and no graph is recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from dispatchviz.core.autograd.engine.graph_task import Buffer
from dispatchviz.core.autograd.graph.accumulate_grad import holds_only_reference_to_memory
from dispatchviz.core.autograd.graph.node import Node
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.conj_neg_bits import ZERO
from dispatchviz.core.tensor.tensor import CONTIGUOUS_STRIDES, Tensor, is_non_overlapping_and_dense
from dispatchviz.core.tensor.tensor_subclass_like import TENSOR_SUBCLASS_LIKE
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.record.events.gradient_events import BufferMethod, BufferReason

FIRST: Final = "it is the first gradient for this input"
"""The reason why a gradient is stored."""

_SUBCLASS: Final = "a dispatch mode or a Tensor subclass is involved: the sum must not be in place"


def add(buffer: Buffer, position: int, gradient: Tensor | None, node: Node) -> None:
    """Put a gradient for ``node`` into the node's buffer. The caller must drop its own reference before."""
    if gradient is None:
        return
    how: BufferMethod
    why: BufferReason
    if buffer[position] is None:
        buffer[position] = gradient
        how, why = "stored", FIRST
    else:
        how, why = _accumulate(cast("list[Tensor]", buffer), position, gradient)
    if recorder.active is not None:
        recorder.active.gradient_buffered(node, position, gradient, how, why)


def _accumulate(buffer: list[Tensor], position: int, gradient: Tensor) -> tuple[BufferMethod, BufferReason]:
    """Add a gradient to the stored one. Return the method and the reason."""
    obstacle = _out_of_place_reason(buffer, position, gradient)
    if obstacle:
        buffer[position] = ops.add_Tensor.call(buffer[position], gradient, 1)
        return "added out of place", obstacle
    ops.add__Tensor.call(buffer[position], gradient, 1)
    return "added in place", "grad mode is off and only the buffer holds the earlier gradient"


def _out_of_place_reason(buffer: list[Tensor], position: int, gradient: Tensor) -> BufferReason | None:
    """Return the reason why the memory of the stored gradient cannot take the sum, checked in PyTorch's order; None if
    it can.
    """
    state = thread.state
    if state.grad_mode:
        return "grad mode is on: the sum may need a history"
    keys = buffer[position]._ks
    if state.modes or keys & TENSOR_SUBCLASS_LIKE:  # is_tensor_subclass_like, without a call
        return _SUBCLASS
    if keys & ZERO:
        return "the earlier gradient is a zero tensor, which has no memory"
    size, stride = buffer[position]._size, buffer[position]._stride
    if stride != CONTIGUOUS_STRIDES[size] and not is_non_overlapping_and_dense(size, stride):
        return "elements of the earlier gradient share memory"
    if not holds_only_reference_to_memory(buffer, position):
        return "the earlier gradient has another reference"
    return _SUBCLASS if gradient._ks & TENSOR_SUBCLASS_LIKE else None
