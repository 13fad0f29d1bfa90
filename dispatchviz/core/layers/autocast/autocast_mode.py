"""Autocast mode: enabled devices, their dtypes, ``cached_cast`` and the cache of casts.

This module mirrors the first half of ``aten/src/ATen/autocast_mode.{h,cpp}``. The kernels that cast are in
``autocast_kernels.py``, the operators that each policy covers in ``autocast_policies.py``.

Rule 1: autocast is on for a device if the thread's exclude set does not have the device's Autocast key. Every tensor of
the device has that key, and every thread excludes it by default.
Rule 2: a float32 leaf that requires grad is cast to lower precision once. The cast is kept until the outermost autocast
ends, and has its backward Node even if grad mode is off. The cache looks up the tensor, not the requested dtype: a
nested autocast of another dtype gets the same cast.

NB: in PyTorch, the dtype of a device is not passed on to the threads of the engine. Here one thread does everything.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from dispatchviz.core.autograd.variables import variable
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys.keys import KEY_BITS, DispatchKey
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.dtype import DType, bfloat16, float16, float32, float64
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.guards import AutoGradMode
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.record.events.autocast_events import CastMethod

KEYS: dict[str, DispatchKey] = {
    "cpu": DispatchKey.AutocastCPU,
    "cuda": DispatchKey.AutocastCUDA,
    "mtia": DispatchKey.AutocastMTIA,
    "maia": DispatchKey.AutocastMAIA,
    "xpu": DispatchKey.AutocastXPU,
    "ipu": DispatchKey.AutocastIPU,
    "hpu": DispatchKey.AutocastHPU,
    "xla": DispatchKey.AutocastXLA,
    "privateuseone": DispatchKey.AutocastPrivateUse1,
    "mps": DispatchKey.AutocastMPS,
}
"""The devices that have autocast, and the keys of their tensors."""

DEFAULT_DTYPES: dict[str, DType] = {
    **dict.fromkeys(("cpu", "maia", "xla", "hpu"), bfloat16),
    **dict.fromkeys(("cuda", "hip", "xpu", "mps", "ipu", "mtia", "privateuseone"), float16),
}
"""The lower precision of each device unless it is set."""

# -- on and off --------------------------------------------------------------------------------------------------------


def is_autocast_available(device_type: str) -> bool:
    """Return whether a type of device has autocast."""
    return device_type in KEYS


def _bit(device_type: str) -> int:
    key = KEYS.get(device_type)
    if key is None:
        raise RuntimeError("unknown device type for autocast in get_autocast_dispatch_key_from_device_type")
    return KEY_BITS[key]


def is_autocast_enabled(device_type: str) -> bool:
    """Return whether autocast is on in this thread. Raise RuntimeError for devices without it."""
    return not thread.state.excluded & _bit(device_type)


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Remove the device's key from the exclude set, or add it. Raise RuntimeError for devices without autocast."""
    before, bit = thread.state.excluded, _bit(device_type)
    thread.state.excluded = before & ~bit if enabled else before | bit
    if thread.state.excluded != before and recorder.active is not None:
        recorder.active.autocast_changed(device_type, enabled, get_autocast_dtype(device_type), before)


def get_autocast_dtype(device_type: str) -> DType:
    """Return the dtype to which the device casts. Raise RuntimeError for devices without autocast."""
    found = thread.state.autocast_dtypes.get(device_type) or DEFAULT_DTYPES.get(device_type)
    if found is None:
        raise RuntimeError("unsupported scalarType")
    return found


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Set the dtype to which the device casts in this thread."""
    before = thread.state.autocast_dtypes.get(device_type) or DEFAULT_DTYPES.get(device_type)
    thread.state.autocast_dtypes[device_type] = dtype
    if dtype is not before and device_type in KEYS and recorder.active is not None:
        enabled = is_autocast_enabled(device_type)
        recorder.active.autocast_changed(device_type, enabled, dtype, thread.state.excluded)


def is_autocast_cache_enabled() -> bool:
    """Return whether the cache of casts is on in this thread."""
    return thread.state.autocast_cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether casts are cached in this thread."""
    thread.state.autocast_cache_enabled = enabled


def increment_nesting() -> int:
    """Count one more open ``with torch.autocast`` in this thread. Return how many are open."""
    thread.state.autocast_nesting += 1
    return thread.state.autocast_nesting


def decrement_nesting() -> int:
    """Count one open ``with torch.autocast`` less. Return how many are open. The caller that gets 0 clears the
    cache.
    """
    thread.state.autocast_nesting -= 1
    return thread.state.autocast_nesting


# -- the cache ---------------------------------------------------------------------------------------------------------

Cache = dict[int, tuple["weakref.ref[Tensor]", Tensor]]

_cached_casts: Cache = {}
"""The leaf, held weakly, and its cast, by the ``id`` of the leaf. All threads share it, as in PyTorch."""


def clear_cache() -> None:
    """Drop all casts."""
    if _cached_casts and recorder.active is not None:
        recorder.active.autocast_cache_cleared(len(_cached_casts))
    _cached_casts.clear()


def exchange_cache(casts: Cache) -> Cache:
    """Replace the cache, and return the old one."""
    before = dict(_cached_casts)
    _cached_casts.clear()
    _cached_casts.update(casts)
    return before


# -- casting -----------------------------------------------------------------------------------------------------------


def is_eligible(tensor: Tensor, device_type: str) -> bool:
    """Return whether autocast of a device casts the tensor: it casts its floating tensors, except float64."""
    return tensor._device.type == device_type and tensor._dtype.is_floating_point and tensor._dtype is not float64


def cached_cast(dtype: DType, tensor: Tensor, device_type: str) -> Tensor:
    """Return the tensor in a dtype: itself if it has that dtype or is not eligible, a cached cast, or a new one."""
    if tensor._dtype is dtype or not is_eligible(tensor, device_type):
        return tensor
    if not _can_try_cache(dtype, tensor, device_type):
        return _record_cast(tensor, _to(tensor, dtype), "cast")
    known = _cached_casts.get(id(tensor))
    if known is not None and known[0]() is tensor:
        return _record_cast(tensor, known[1], "taken from the cache")
    with AutoGradMode(True, "a cast for autocast's cache"):
        result = _to(tensor, dtype)
    _cached_casts[id(tensor)] = (weakref.ref(tensor), result)
    return _record_cast(tensor, result, "cast and kept")


def _can_try_cache(dtype: DType, tensor: Tensor, device_type: str) -> bool:
    """Return whether the cache may keep the cast. It keeps casts to lower precision of a float32 leaf that requires
    grad and is not a view.
    """
    state = thread.state
    return (
        dtype is get_autocast_dtype(device_type)
        and tensor._dtype is float32
        and variable.requires_grad(tensor)
        and variable.is_leaf(tensor)
        and tensor._view is None
        and state.autocast_cache_enabled
        and not state.inference_mode
    )


def _to(tensor: Tensor, dtype: DType) -> Tensor:
    return ops.to_dtype.call(tensor, dtype, False, False, None)


def _record_cast(tensor: Tensor, result: Tensor, how: CastMethod) -> Tensor:
    if recorder.active is not None:
        recorder.active.autocast_cast(tensor, result, how)
    return result
