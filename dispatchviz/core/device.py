"""Devices by name, as ``c10::Device``: a type and an index."""

from __future__ import annotations

import re
from typing import NamedTuple

TYPES = ("cpu", "cuda", "meta")
# NB: in PyTorch there are some twenty device types; tensors live on these three here.


class _Fields(NamedTuple):
    type: str
    index: int | None


class Device(_Fields):
    """A device; ``index`` is None for "the current one". Built from ``"cuda:0"`` or ``("cuda", 0)``."""

    __slots__ = ()

    def __new__(cls, type: str, index: int | None = None) -> Device:
        """RuntimeError for a type that does not exist."""
        if index is None and isinstance(type, str):
            type, index = _parse(type)
        return super().__new__(cls, type, index)

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"


def _parse(text: str) -> tuple[str, int | None]:
    """``cpu``, ``cuda``, ``cuda:0``, ``meta``."""
    match = re.fullmatch(r"([a-z_]+)(?::(\d+))?", text)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'")
    if match[1] not in TYPES:
        raise RuntimeError(f"Expected one of {', '.join(TYPES)} device type at start of device string: {match[1]}")
    return match[1], None if match[2] is None else int(match[2])


CPU = Device("cpu", None)
META = Device("meta", None)
CUDA = Device("cuda", 0)
"""NB: in PyTorch a process may have several CUDA devices; here there is one, cuda:0."""


def concrete(device: Device) -> Device:
    """With the index that a tensor on it has: ``cuda`` means ``cuda:0``, ``cpu`` stays."""
    if device.type == "cuda":
        if device.index not in (None, 0):
            raise RuntimeError(f"CUDA error: invalid device ordinal (asked for {device}, there is one device, cuda:0)")
        return CUDA
    return CPU if device.type == "cpu" else META
