"""``torch.layout`` and ``torch.memory_format`` objects. They live in ``core``, because Python kernels receive them
too.
"""

from __future__ import annotations

from dispatchviz.core.tensor.layout import (
    _mkldnn,
    channels_last,
    channels_last_3d,
    contiguous_format,
    jagged,
    layout,
    memory_format,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)

__all__ = [
    "_mkldnn",
    "channels_last",
    "channels_last_3d",
    "contiguous_format",
    "jagged",
    "layout",
    "legacy_contiguous_format",
    "memory_format",
    "preserve_format",
    "sparse_bsc",
    "sparse_bsr",
    "sparse_coo",
    "sparse_csc",
    "sparse_csr",
    "strided",
]

legacy_contiguous_format = contiguous_format
