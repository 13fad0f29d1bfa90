"""Events of autocast (``aten/src/ATen/autocast_mode.cpp``)."""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Event
from dispatchviz.core.record.events.field_types import Count, KeySet, TensorNumber

CastMethod = Literal["cast", "cast and kept", "taken from the cache"]
"""The action of ``cached_cast`` on an argument: it casts it, casts it and keeps the result in the cache, or finds the
cast in the cache.
"""


class AutocastChanged(Event, frozen=True):
    """Autocast was enabled or disabled for a type of device, or its dtype was set. The device's Autocast key is removed
    from the exclude set or added to it.
    """

    device: str
    """Type of the device: ``cpu``, ``cuda``."""
    enabled: bool
    """True if autocast is on for it afterwards."""
    dtype: str
    """The dtype to which it casts afterwards: ``torch.bfloat16``."""
    excluded_before: KeySet
    """The thread-local exclude set before, as a 64-bit number."""
    excluded: KeySet
    """The thread-local exclude set afterwards."""


class AutocastCast(Event, frozen=True):
    """An argument of an autocast kernel was cast to another dtype (``cached_cast``)."""

    tensor: TensorNumber
    """Number of the argument."""
    before: str
    """Dtype of the argument: ``torch.float32``."""
    after: str
    """Dtype of the cast: ``torch.bfloat16``."""
    result: TensorNumber
    """Number of the cast, which the kernel uses instead of the argument."""
    how: CastMethod
    """The use of the cache of casts. The cast of a float32 leaf that requires grad is kept."""


class AutocastCacheCleared(Event, frozen=True):
    """The outermost autocast ended, or the cache was cleared by hand. Its casts are dropped (``clear_cache``)."""

    casts: Count
    """Number of casts in the cache."""
