"""``torch.cpu``: the counterpart of ``torch.cuda``."""

from __future__ import annotations

from dispatchviz.torch.cpu import amp as amp


def is_available() -> bool:
    """Return True."""
    return True


def device_count() -> int:
    """Return 1."""
    return 1
