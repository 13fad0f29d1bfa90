"""Texts that are the same in many events: one string for all of them."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dispatchviz.core.device.device import Device
    from dispatchviz.core.tensor.dtype import DType


@functools.cache
def dtype_text(dtype: DType) -> str:
    """The text of a dtype, ``torch.float32``."""
    return repr(dtype)


def device_text(device: Device) -> str:
    """The text of a device, ``cuda:0``."""
    return device.type if device.index is None else sys.intern(str(device))


@functools.cache
def meta_text(family: str) -> str:
    """The name of a structured kernel's meta function."""
    return f"structured_{family}::meta"


@functools.cache
def impl_text(kernel: str) -> str:
    """The name of a structured kernel's impl function."""
    return f"structured_{kernel}::impl"
