"""The process's ``aten`` operators: defined here from the generated schemas, found here by name.

Importing this module defines operators; ``native_library`` registers their kernels.
"""

from __future__ import annotations

from functools import cache

from dispatchviz.core.device import CPU, Device
from dispatchviz.core.dtype import DType
from dispatchviz.core.generated.register_schema import SCHEMAS
from dispatchviz.core.keys import DispatchKey
from dispatchviz.core.keyset import compute_dispatch_key, full_after, raw
from dispatchviz.core.library import Library, operators
from dispatchviz.core.operator import OperatorEntry
from dispatchviz.core.tensor import Tensor
from dispatchviz.core.thread_state import thread

library = Library("DEF", "aten")
for _schema in SCHEMAS:
    library.def_(_schema)


def find(name: str) -> OperatorEntry:
    """The operator of a full name (``aten::add.Tensor``). KeyError if there is none."""
    return operators[name]


_BELOW_BACKEND_SELECT = full_after(DispatchKey.BackendSelect)


@cache
def _device_keys(device_type: str) -> int:
    return raw(compute_dispatch_key(device_type))


def backend_select_keys(dtype: DType | None, layout: object, device: Device | None, *tensors: Tensor) -> int:
    """The set with which a BackendSelect kernel redispatches (``RegisterBackendSelect.cpp``).

    Without tensor arguments it is just the key of the device; with some it is their keys too, joined with the thread's
    sets and cut to what lies below BackendSelect.
    """
    keys = _device_keys((device or CPU).type)
    if not tensors:
        return keys
    for tensor in tensors:
        keys |= tensor._ks
    return (keys | thread.state.included) & (0xFFFF | ~thread.state.excluded) & _BELOW_BACKEND_SELECT
