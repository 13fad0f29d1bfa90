"""Errors of devices (``torch/csrc/Exceptions.cpp``): for ``except`` clauses, since nothing here raises them."""

from __future__ import annotations


class OutOfMemoryError(RuntimeError):
    """A device has no memory left."""


class AcceleratorError(RuntimeError):
    """A device has failed."""


for _class in (OutOfMemoryError, AcceleratorError):
    _class.__module__ = "torch"
