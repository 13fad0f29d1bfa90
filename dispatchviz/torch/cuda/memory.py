"""``torch.cuda.memory``: the amount of device memory in use (``torch/cuda/memory.py``).

NB: the numbers are those of CuPy's pool. An emulated device uses the machine's memory and counts nothing, so queries
return 0, and the first one warns. Peaks are the amount in use at the time of the query, and allocations are not listed.
"""

from __future__ import annotations

import os
import warnings
from collections import OrderedDict
from typing import Any

from dispatchviz.core.device.array_library import array_module, cuda_state
from dispatchviz.torch.cuda.current_device import init, is_available, set_device

_warned: set[str] = set()


def _pool() -> Any:
    """Return CuPy's memory pool, or None if CUDA is emulated."""
    if cuda_state().real:
        return array_module("cuda").get_default_memory_pool()
    if not _warned:
        _warned.add("emulated")
        warnings.warn("dispatchviz emulates CUDA in the machine's memory and does not count it: 0 bytes", stacklevel=4)
    return None


def _bytes_of_pool(device: object, method: str) -> int:
    if not is_available():
        return 0
    set_device(device)
    pool = _pool()
    return 0 if pool is None else int(getattr(pool, method)())


def memory_allocated(device: object = None) -> int:
    """Return the number of bytes that tensors use."""
    return _bytes_of_pool(device, "used_bytes")


def memory_reserved(device: object = None) -> int:
    """Return the number of bytes that are reserved for tensors."""
    return _bytes_of_pool(device, "total_bytes")


def max_memory_allocated(device: object = None) -> int:
    """Return the same as ``memory_allocated``, because peaks are not tracked."""
    return _bytes_of_pool(device, "used_bytes")


def max_memory_reserved(device: object = None) -> int:
    """Return the same as ``memory_reserved``, because peaks are not tracked."""
    return _bytes_of_pool(device, "total_bytes")


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def reset_peak_memory_stats(device: object = None) -> None:
    """Do nothing: peaks are not tracked."""
    init()
    set_device(device)


reset_accumulated_memory_stats = reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def mem_get_info(device: object = None) -> tuple[int, int]:
    """Return the number of free and of all bytes of the GPU or, if emulated, of the machine."""
    init()
    set_device(device)
    if cuda_state().real:
        free, total = array_module("cuda").cuda.runtime.memGetInfo()
        return int(free), int(total)
    page = os.sysconf("SC_PAGE_SIZE")
    return page * os.sysconf("SC_AVPHYS_PAGES"), page * os.sysconf("SC_PHYS_PAGES")


def memory_stats(device: object = None) -> OrderedDict[str, Any]:
    """Return the memory in use now, without PyTorch's other counters. Without a device, return an empty dict."""
    if not is_available():
        return OrderedDict()
    used, kept = _bytes_of_pool(device, "used_bytes"), _bytes_of_pool(device, "total_bytes")
    names = {"allocated_bytes": used, "reserved_bytes": kept}
    return OrderedDict((f"{name}.all.{when}", value) for name, value in names.items() for when in ("current", "peak"))


def memory_summary(device: object = None, abbreviated: bool = False) -> str:
    """Return two lines: the memory in use and the memory reserved."""
    used, kept = memory_allocated(device), memory_reserved(device)
    lines = ["dispatchviz does not keep PyTorch's statistics", f"allocated memory  {used} bytes"]
    return "\n".join([*lines, f"reserved memory   {kept} bytes"])


def set_per_process_memory_fraction(fraction: float, device: object = None) -> None:
    """Do nothing. Raise ValueError unless the fraction is between 0 and 1."""
    init()
    set_device(device)
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if fraction < 0 or fraction > 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")


def empty_cache() -> None:
    """Return unused blocks of CuPy's pool to the GPU."""
    if is_available() and cuda_state().real:
        array_module("cuda").get_default_memory_pool().free_all_blocks()
