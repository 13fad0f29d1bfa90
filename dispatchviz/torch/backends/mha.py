"""``torch.backends.mha``: the flag of the attention fast path (``torch/backends/mha/__init__.py``)."""

from __future__ import annotations

_enabled = True


def get_fastpath_enabled() -> bool:
    """Return whether the fast path may be used."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Set whether the fast path may be used."""
    global _enabled
    _enabled = value
