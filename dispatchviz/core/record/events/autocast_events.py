"""Events of autocast (``aten/src/ATen/autocast_mode.cpp``)."""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Event
from dispatchviz.core.record.events.field_types import Count, KeySet, TensorNumber

CastMethod = Literal["cast", "cast and kept", "taken from the cache"]
"""What ``cached_cast`` does with an argument: casts it; casts it and keeps the result in the cache; finds it there."""


class AutocastChanged(Event, frozen=True):
    """Autocast was switched for a kind of device, or its dtype set: the device's Autocast key leaves the excluded set
    or returns to it."""

    device: str
    """Type of the device: ``cpu``, ``cuda``."""
    enabled: bool
    """Whether autocast is on for it from here on."""
    dtype: str
    """The dtype it casts to from here on: ``torch.bfloat16``."""
    excluded_before: KeySet
    """The thread's excluded key set until then, as a 64-bit number."""
    excluded: KeySet
    """The thread's excluded key set from here on."""


class AutocastCast(Event, frozen=True):
    """An argument of an autocast kernel was cast to another dtype (``cached_cast``)."""

    tensor: TensorNumber
    """Number of the argument."""
    before: str
    """Dtype of the argument: ``torch.float32``."""
    after: str
    """Dtype of the cast: ``torch.bfloat16``."""
    result: TensorNumber
    """Number of the cast, which the kernel uses in place of the argument."""
    how: CastMethod
    """Whether the cache of casts was used; that of a float32 leaf that requires grad is kept."""


class AutocastCacheCleared(Event, frozen=True):
    """The outermost autocast ended, or the cache was cleared by hand: its casts are dropped (``clear_cache``)."""

    casts: Count
    """How many casts were in the cache."""
