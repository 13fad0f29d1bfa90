"""The memory that saved tensors keep. Each memory counts once, up to the end of its tensors.

A trace does not record the size of a ``c10::StorageImpl``. Its size is taken to be that of the largest tensor made on
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.trace_index import index

LOOKED_AT = 256
"""The number of tensors on one memory that are read."""

NO_MEMORY = -1
"""The storage of a meta tensor, or of a wrapper."""


def memories(trace: Trace, tensors: Iterable[int]) -> dict[int, int]:
    """Return the memories of some tensors: the number of bytes of each storage."""
    known = index(trace)
    made = (known.tensors.get(tensor) for tensor in tensors)
    storages = {event.storage for event in made if event is not None and event.storage != NO_MEMORY}
    return {storage: _bytes(trace, storage) for storage in sorted(storages)}


def _bytes(trace: Trace, storage: int) -> int:
    steps = index(trace).about_storage(storage, ev.TensorCreated)[:LOOKED_AT]
    return max((_reach(event) for step in steps if isinstance(event := trace[step], ev.TensorCreated)), default=0)


def _reach(made: ev.TensorCreated) -> int:
    """Return the number of bytes from a tensor's first element to the end of its last one."""
    if 0 in made.shape:
        return 0
    steps = ((size - 1) * stride for size, stride in zip(made.shape, made.stride, strict=False))
    return (1 + sum(steps)) * item_size(made.dtype)


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
