"""``torch.layout`` and ``torch.memory_format`` objects, which live in ``core`` (kernels in Python get them too)."""

from __future__ import annotations

from dispatchviz.core.formats import (
    channels_last,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    strided,
)

__all__ = ["channels_last", "contiguous_format", "layout", "memory_format", "preserve_format", "strided"]
