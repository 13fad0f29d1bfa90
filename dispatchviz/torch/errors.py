"""Errors of devices (``torch/csrc/Exceptions.cpp``)."""

from __future__ import annotations

from dispatchviz.core.device.device import AcceleratorError as AcceleratorError


class OutOfMemoryError(RuntimeError):
    """A device has no memory left. It exists for ``except`` clauses; the model never raises it."""


OutOfMemoryError.__module__ = "torch"
