"""The operators of the process: all that PyTorch has, found by name, and helpers that their kernels share.

``core/wiring/native_library.py`` registers them. Each is created on first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from dispatchviz.core.device.device import CPU, Device
from dispatchviz.core.keys.key_set import compute_dispatch_key, full_after, raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.table.registry import process
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import thread


def find(name: str) -> OperatorEntry:
    """Return the operator with a full name (``aten::add.Tensor``). Raise KeyError if there is none."""
    return process.operators[name]


class Entry:
    """The attribute ``entry`` of a generated operator class. It is created on first read and then stored."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> OperatorEntry:
        """Return the operator and store it. Raise KeyError if there is no such operator."""
        entry = find(self.name)
        owner.entry = entry  # type: ignore[attr-defined]
        return entry


CUDA_BIT = raw(DispatchKey.CUDA) & 0xFFFF
"""The backend bit of CUDA in a key set. A kernel that CPU and CUDA share reads it to learn for which of the two it
runs.
"""

_BELOW_BACKEND_SELECT = full_after(DispatchKey.BackendSelect)


class UndefinedTensors(list["Tensor | None"]):
    """A list of tensors whose None members mean undefined tensors: ``List[Tensor?]``."""


_UNDEFINED = raw(DispatchKey.AutogradOther)
"""The key set of the undefined tensor."""


def keys_of(tensors: Sequence[Tensor | None]) -> int:
    """The OR of the key sets of a list of tensors."""
    keys = _UNDEFINED if type(tensors) is UndefinedTensors and None in tensors else 0
    for tensor in tensors:
        if tensor is not None:
            keys |= tensor._ks
    return keys


@cache
def _device_keys(device_type: str) -> int:
    return raw(compute_dispatch_key(device_type))


def backend_select_keys(dtype: DType | None, layout: object, device: Device | None, *tensors: Tensor) -> int:
    """The key set with which a BackendSelect kernel redispatches (``RegisterBackendSelect.cpp``).

    Without tensor arguments it is just the key of the device. With tensors it is also their keys and the thread-local
    include set, without the exclude set, cut to the keys below BackendSelect.
    """
    keys = _device_keys((device or CPU).type)
    if not tensors:
        return keys
    for tensor in tensors:
        keys |= tensor._ks
    return (keys | thread.state.included) & (0xFFFF | ~thread.state.excluded) & _BELOW_BACKEND_SELECT
