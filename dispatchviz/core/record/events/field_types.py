"""What a number in an event can be: msgspec checks it while a trace file is decoded, so nobody else has to.

Bounds are those of PyTorch's own C++ types, never those of what one recording happened to hold. An event whose field
is out of bounds opens as ``Unknown``.

Not here: what numbers refer to. A Node or a tensor may be older than the recording, so an event that names one proves
nothing of its creation; whoever asks for it copes with not finding it.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

_INT64 = 2**63 - 1
_INT32 = 2**31 - 1
_UINT32 = 2**32 - 1
_ALL_KEYS = 2**62 - 1
"""16 backend bits and 46 functionality bits."""

Step = Annotated[int, Meta(ge=0, le=_INT32)]
"""``seq`` of an event, its position in the trace."""

TensorNumber = Annotated[int, Meta(ge=0, le=_INT64)]
"""Of a tensor: they are counted from 0, in order of appearance."""

NodeNumber = Annotated[int, Meta(ge=0, le=_INT64)]
"""Of a Node: they are counted from 0, in order of appearance."""

StorageNumber = Annotated[int, Meta(ge=-1, le=_INT64)]
"""Of a storage, counted from 0; -1: none."""

CounterNumber = Annotated[int, Meta(ge=-1, le=_INT64)]
"""Of a version counter, counted from 0; -1: none, or not known."""

HookNumber = Annotated[int, Meta(ge=0, le=_INT64)]
"""Of a hook that was registered: they are counted from 0."""

GraphTaskNumber = Annotated[int, Meta(ge=0, le=_INT64)]
"""Of a graph task: they are counted from 0."""

StreamNumber = Annotated[int, Meta(ge=0, le=_INT64)]
"""Of a CUDA stream: 0 is the default one."""

StreamEventNumber = Annotated[int, Meta(ge=0, le=_INT64)]
"""Of a CUDA event."""

KeySet = Annotated[int, Meta(ge=0, le=_ALL_KEYS)]
"""``DispatchKeySet::raw_repr``: bits 0 to 15 are backends, bits 16 to 61 functionalities."""

CellNumber = Annotated[int, Meta(ge=0, le=_INT32)]
"""Index into an operator's dispatch table."""

OutputNumber = Annotated[int, Meta(ge=0, le=_UINT32)]
"""``output_nr`` of a tensor, ``input_nr`` of a Node: the same index, ``uint32_t`` in PyTorch."""

EdgeNumber = Annotated[int, Meta(ge=0, le=_UINT32)]
"""Index of an edge among a Node's edges."""

Version = Annotated[int, Meta(ge=-1, le=_UINT32)]
"""Of a tensor, ``uint32_t`` in PyTorch; -1: undefined."""

SequenceNumber = Annotated[int, Meta(ge=0)]
"""``Node::sequence_nr``: up to 18446744073709551615 (UINT64_MAX), which AccumulateGrad has."""

TopologicalNumber = Annotated[int, Meta(ge=0, le=_INT64)]
"""``Node::topological_nr``: length of the longest path to a leaf."""

ThreadNumber = Annotated[int, Meta(ge=0, le=_INT64)]
"""``Node::thread_id``."""

Count = Annotated[int, Meta(ge=0, le=_INT64)]
"""How many there are."""

CountOrUnknown = Annotated[int, Meta(ge=-1, le=_INT64)]
"""How many there are; -1: the trace does not say."""

Position = Annotated[int, Meta(ge=0, le=_INT64)]
"""An index from 0."""

Level = Annotated[int, Meta(ge=0, le=_INT64)]
"""Of a transform or of forward mode."""

Dimension = Annotated[int, Meta(ge=-_INT64 - 1, le=_INT64)]
"""Index of a dimension."""

Size = Annotated[int, Meta(ge=0, le=_INT64)]
"""Of a dimension, in elements."""

Stride = Annotated[int, Meta(ge=-_INT64 - 1, le=_INT64)]
"""Of a dimension, in elements."""

LineNumber = Annotated[int, Meta(ge=0, le=_INT32)]
"""Of a line of a file, from 1; 0: none."""
