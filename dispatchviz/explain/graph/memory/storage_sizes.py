"""The sizes of storages. A trace does not record the size of a ``c10::StorageImpl``.

Its size is taken to be that of the largest tensor on it, up to the end of that tensor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.stored_events import some_events
from dispatchviz.explain.trace_index.trace_index import index

LOOKED_AT = 256
"""The number of tensors on one storage that are read."""

NO_STORAGE = -1
"""The storage of a meta tensor, or of a wrapper."""


def memories(trace: Trace, tensors: Iterable[int]) -> dict[int, int]:
    """Return the number of bytes of each storage that some tensors are on."""
    known = index(trace)
    made = (known.tensors.get(tensor) for tensor in tensors)
    return storage_sizes(trace, {event.storage for event in made if event is not None})


def storage_sizes(trace: Trace, storages: Iterable[int]) -> dict[int, int]:
    """Return the number of bytes of some storages, in order. ``NO_STORAGE`` is left out."""
    wanted = sorted(storage for storage in storages if storage != NO_STORAGE)
    known, sizes = index(trace), dict.fromkeys(wanted, 0)
    steps = sorted(step for each in wanted for step in known.about_storage(each, ev.TensorCreated)[:LOOKED_AT])
    resized = len(trace.steps_of(ev.GeometryChanged)) > 0
    for event in some_events(trace.events, steps):
        if isinstance(event, ev.TensorCreated) and event.storage in sizes:
            shapes = [(event.shape, event.stride), *(_later_shapes(trace, event.tensor) if resized else ())]
            size = max(_reach(shape, stride, event.dtype) for shape, stride in shapes)
            sizes[event.storage] = max(sizes[event.storage], size)
    return sizes


Shape = tuple[tuple[int, ...], tuple[int, ...]]
"""Sizes and strides."""


def _later_shapes(trace: Trace, tensor: int) -> Iterator[Shape]:
    """Yield the sizes and strides that a tensor gets later, as long as it stays on its storage."""
    for step in index(trace).steps_about(tensor, ev.GeometryChanged):
        event = trace[step]
        if isinstance(event, ev.GeometryChanged):
            if event.dtype:
                return
            yield event.shape, event.stride


def _reach(shape: tuple[int, ...], stride: tuple[int, ...], dtype: str) -> int:
    """Return the number of bytes from a tensor's first element to the end of its last one."""
    if 0 in shape:
        return 0
    return (1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=False))) * item_size(dtype)


def item_size(dtype: str) -> int:
    """Return the bytes of one element. The name of a dtype contains the bits: ``torch.float32``, ``torch.bool``."""
    bits = re.search(r"\d+", dtype)
    return max(int(bits[0]) // 8, 1) if bits else 1


def plain_bytes(count: int) -> str:
    """Return a size in words: ``96 bytes``, ``1.5 KiB``."""
    if count < 1024:
        return f"{count} byte{'' if count == 1 else 's'}"
    power = min((count.bit_length() - 1) // 10, len(UNITS))
    return f"{count / 1024**power:.1f} {UNITS[power - 1]}"


UNITS = ("KiB", "MiB", "GiB", "TiB")
"""The units, each 1,024 times the previous one."""
