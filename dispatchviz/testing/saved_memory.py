"""The memory that a backward graph keeps: that of the tensors that Nodes save. Shared memory counts once."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record.events import TensorCreated, VariableSaved
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.tensor.dtype import ALL
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.testing.events_of_kind import events_of
from dispatchviz.testing.failures import still

ITEM_SIZES = {str(dtype): dtype.itemsize for dtype in ALL}


def saved_bytes(trace: Trace) -> int:
    """Return the bytes of all memory on which the Nodes of a trace save tensors.

    A view keeps the whole memory of its base. Values that pack hooks return instead of a tensor do not count.
    """
    quiet = still(trace)
    tensors = {
        event.tensor for event in events_of(quiet, VariableSaved) if event.tensor is not None and not event.packed
    }
    made = [created for created in map(index(quiet).tensors.get, tensors) if created is not None]
    storages = {created.storage for created in made if created.storage >= 0}
    return sum(max(map(_extent, _on(quiet, storage)), default=0) for storage in storages)


def _on(trace: Trace, storage: int) -> Iterator[TensorCreated]:
    """Yield the tensors that use a storage."""
    events = (trace[step] for step in index(trace).about_storage(storage, TensorCreated))
    return (event for event in events if isinstance(event, TensorCreated))


def _extent(tensor: TensorCreated) -> int:
    """Return the bytes from a tensor's first element to its last."""
    if 0 in tensor.shape:
        return 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride, strict=True))
    return (last + 1) * ITEM_SIZES.get(tensor.dtype, 0)
