"""Tells who listens that a module has other parameters, buffers or modules: names of tensors follow from that."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.seam import recorder


def members_changed(module: Any) -> None:
    """To be called wherever the dictionaries of a module's members are written to."""
    if recorder.active is not None:
        recorder.active.module_changed(module)
