"""Errors of devices (``torch/csrc/Exceptions.cpp``)."""

from __future__ import annotations

from dispatchviz.core.device.device import AcceleratorError as AcceleratorError


class OutOfMemoryError(RuntimeError):
    """A device has no memory left: for ``except`` clauses, since nothing here raises it."""


OutOfMemoryError.__module__ = "torch"
