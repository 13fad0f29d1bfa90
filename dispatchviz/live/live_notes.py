"""The notes of a recording of an installed PyTorch, besides the model's (``core/record/note_types.py``).

They hold raw facts. ``live_events.py`` has a method with each note's name, and the same facts in the same order, which
makes the events.

Key sets of kernels are as the installed release numbers them. Tensors and Nodes are serial numbers of the process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from dispatchviz.core.record.events import TensorOrigin
from dispatchviz.core.record.note_types import Note
from dispatchviz.live.live_events import NodeKind
from dispatchviz.live.watched_operators import WatchedCell

Sets = tuple[str | int, ...]
"""The parameter, serial number and key set of each tensor argument, one after the other. All are in one tuple, because
notes are kept and the garbage collector looks at each object.
"""

KernelCalled = tuple[Literal["kernel_called"], WatchedCell, int, int, int, Sets]
"""A kernel begins because a call selected it: its cell, its key set, the thread's included and excluded sets, those of
the arguments.
"""
KernelCalledWithGenerator = tuple[Literal["kernel_called_with_generator"], WatchedCell, int, int, int, Sets, str]
"""The same for a call with a random generator among the arguments: the type of its device."""
KernelRedispatched = tuple[Literal["kernel_redispatched"], WatchedCell, int, int, int]
"""A kernel begins because a redispatch selected it: its cell, its key set, the thread's included and excluded sets."""
KernelReturnedOne = tuple[Literal["kernel_returned_one"], int]
"""A kernel returned a tensor."""
KernelReturned = tuple[Literal["kernel_returned"], tuple[int, ...]]
"""A kernel returned several tensors, or none."""
KernelFailed = tuple[Literal["kernel_failed"], WatchedCell]
"""A kernel raised: its cell."""
TensorMet = tuple[
    Literal["tensor_met"], int, TensorOrigin, tuple[int, ...], tuple[int, ...], Any, Any, int, int, bool, str
]
"""A tensor: number, how it was met, size, stride, dtype, device, key set in our numbers, storage (-1: none), whether it
requires grad, the number that it wraps as a text (empty: none)."""
LiveNodeCreated = tuple[Literal["node_created", "node_known"], int, NodeKind, int, int, int]
"""A Node, made now or before the recording: number, kind, sequence number, topological number, thread."""
LiveEdgesCollected = tuple[Literal["live_edges_collected"], int, tuple[int, ...]]
"""The Node and where its edges lead: for each edge, one after the other, the Node (negative: nowhere) and its input
number.
"""
LiveNodeStarted = tuple[Literal["live_node_started"], int, str, int, int | tuple[int | None, ...], Any, bool]
"""A Node is about to be evaluated: number, name, sequence number, its only gradient or all of them, the device of the
first, whether on a thread of the engine's own."""

LiveNote = (
    Note
    | KernelCalled
    | KernelCalledWithGenerator
    | KernelRedispatched
    | KernelReturnedOne
    | KernelReturned
    | KernelFailed
    | TensorMet
    | LiveNodeCreated
    | LiveEdgesCollected
    | LiveNodeStarted
)
EmitLive = Callable[[LiveNote], None]
"""A function that appends one note to a recording."""
