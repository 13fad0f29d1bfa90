"""How much memory saved tensors keep: each memory once, as far as the tensors on it reach.

A trace has no size of a ``c10::StorageImpl``; a memory is taken to be as big as the largest tensor that was made on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.trace_index import index

LOOKED_AT = 256
"""So many tensors on one memory are looked at."""

NO_MEMORY = -1
"""The storage of a meta tensor, or of a wrapper."""


def memories(trace: Trace, tensors: Iterable[int]) -> dict[int, int]:
    """The memories of some tensors: number of the storage to bytes."""
    known = index(trace)
    made = (known.tensors.get(tensor) for tensor in tensors)
    storages = {event.storage for event in made if event is not None and event.storage != NO_MEMORY}
    return {storage: _bytes(trace, storage) for storage in sorted(storages)}


def _bytes(trace: Trace, storage: int) -> int:
    steps = index(trace).about_storage(storage, ev.TensorCreated)[:LOOKED_AT]
    return max((_reach(event) for step in steps if isinstance(event := trace[step], ev.TensorCreated)), default=0)


def _reach(made: ev.TensorCreated) -> int:
    """Bytes from a tensor's first element to the end of its last one."""
    if 0 in made.shape:
        return 0
    steps = ((size - 1) * stride for size, stride in zip(made.shape, made.stride, strict=False))
    return (1 + sum(steps)) * item_size(made.dtype)


def item_size(dtype: str) -> int:
    """Bytes of a number, which a dtype's name tells in bits: ``torch.float32``, ``torch.bool``."""
    bits = re.search(r"\d+", dtype)
    return max(int(bits[0]) // 8, 1) if bits else 1


def plain_bytes(count: int) -> str:
    """``96 bytes``, ``1.5 KiB``."""
    if count < 1024:
        return f"{count} byte{'' if count == 1 else 's'}"
    power = min((count.bit_length() - 1) // 10, len(UNITS))
    return f"{count / 1024**power:.1f} {UNITS[power - 1]}"


UNITS = ("KiB", "MiB", "GiB", "TiB")
"""Each 1,024 of the one before."""
