"""The types of numbers in an event. msgspec checks them while a trace file is decoded, so no other code has to.

The bounds are those of PyTorch's own C++ types, never those of the values in one recording. An event whose field is out
of bounds opens as ``Unknown``.

Not here: the things to which numbers refer. A Node or a tensor may be older than the recording, so an event that names
one does not prove that the trace has its creation. Code that looks it up must handle not finding it.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

_INT64 = 2**63 - 1
_INT32 = 2**31 - 1
_UINT32 = 2**32 - 1
_ALL_KEYS = 2**62 - 1
"""The 16 backend bits and 46 functionality bits."""

Step = Annotated[int, Meta(ge=0, le=_INT32)]
"""``seq`` of an event, its position in the trace."""

TensorNumber = Annotated[int, Meta(ge=0, le=_INT64)]
"""Number of a tensor. Tensors are counted from 0, in order of appearance."""

NodeNumber = Annotated[int, Meta(ge=0, le=_INT64)]
"""Number of a Node. Nodes are counted from 0, in order of appearance."""

StorageNumber = Annotated[int, Meta(ge=-1, le=_INT64)]
"""Number of a storage, counted from 0; -1: none."""

CounterNumber = Annotated[int, Meta(ge=-1, le=_INT64)]
"""Number of a version counter, counted from 0; -1: none, or not known."""

HookNumber = Annotated[int, Meta(ge=0, le=_INT64)]
"""Number of a registered hook, counted from 0."""

GraphTaskNumber = Annotated[int, Meta(ge=0, le=_INT64)]
"""Number of a graph task, counted from 0."""

StreamNumber = Annotated[int, Meta(ge=0, le=_INT64)]
"""Number of a CUDA stream; 0 is the default stream."""

StreamEventNumber = Annotated[int, Meta(ge=0, le=_INT64)]
"""Number of a CUDA event."""

KeySet = Annotated[int, Meta(ge=0, le=_ALL_KEYS)]
"""``DispatchKeySet::raw_repr``: bits 0 to 15 are backends, bits 16 to 61 functionalities."""

CellNumber = Annotated[int, Meta(ge=0, le=_INT32)]
"""Index into an operator's dispatch table."""

OutputNumber = Annotated[int, Meta(ge=0, le=_UINT32)]
"""``output_nr`` of a tensor, ``input_nr`` of a Node: the same index, ``uint32_t`` in PyTorch."""

EdgeNumber = Annotated[int, Meta(ge=0, le=_UINT32)]
"""Index of an edge among a Node's edges."""

Version = Annotated[int, Meta(ge=-1, le=_UINT32)]
"""Version of a tensor, ``uint32_t`` in PyTorch; -1: undefined."""

SequenceNumber = Annotated[int, Meta(ge=0)]
"""``Node::sequence_nr``, up to 18446744073709551615 (UINT64_MAX), which AccumulateGrad has."""

TopologicalNumber = Annotated[int, Meta(ge=0, le=_INT64)]
"""``Node::topological_nr``, the length of the longest path to a leaf."""

ThreadNumber = Annotated[int, Meta(ge=0, le=_INT64)]
"""``Node::thread_id``."""

Count = Annotated[int, Meta(ge=0, le=_INT64)]
"""A number of things."""

CountOrUnknown = Annotated[int, Meta(ge=-1, le=_INT64)]
"""A number of things; -1: the trace does not have it."""

Position = Annotated[int, Meta(ge=0, le=_INT64)]
"""An index from 0."""

Level = Annotated[int, Meta(ge=0, le=_INT64)]
"""Level of a transform or of forward mode."""

Dimension = Annotated[int, Meta(ge=-_INT64 - 1, le=_INT64)]
"""Index of a dimension."""

Size = Annotated[int, Meta(ge=0, le=_INT64)]
"""Size of a dimension, in elements."""

Stride = Annotated[int, Meta(ge=-_INT64 - 1, le=_INT64)]
"""Stride of a dimension, in elements."""

Rank = Annotated[int, Meta(ge=0, le=_INT32)]
"""Rank of a process in a distributed program."""

Root = Annotated[int, Meta(ge=-1, le=_INT32)]
"""Rank of the process that sends to all others, or receives from them; -1: there is none."""

Time = Annotated[int, Meta(ge=0, le=_INT64)]
"""A time in nanoseconds since 1970; 0: unknown."""

LineNumber = Annotated[int, Meta(ge=0, le=_INT32)]
"""Number of a line of a file, from 1; 0: none."""
