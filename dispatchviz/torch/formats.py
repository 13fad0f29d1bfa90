"""``torch.layout`` and ``torch.memory_format`` objects, which live in ``core`` (kernels in Python get them too)."""

from __future__ import annotations

from dispatchviz.core.formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    strided,
)

__all__ = [
    "channels_last",
    "channels_last_3d",
    "contiguous_format",
    "layout",
    "legacy_contiguous_format",
    "memory_format",
    "preserve_format",
    "strided",
]

legacy_contiguous_format = contiguous_format
