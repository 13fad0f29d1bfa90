"""``torch.signal``: windows for signal processing."""

from __future__ import annotations

from dispatchviz.torch.signal import windows as windows

__all__ = ["windows"]
