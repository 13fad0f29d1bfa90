"""Devices by name, as ``c10::Device``: a type and an index.

NB: in PyTorch tensors live on some twenty device types; here kernels are for cpu, cuda and meta, and only tensors
without memory (wrapper subclasses) are on the others.
"""

from __future__ import annotations

import re
from typing import NamedTuple

NAMES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
    "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip
"""Device types that PyTorch knows by name, in the order of its error message."""


class _Fields(NamedTuple):
    type: str
    index: int | None  # type: ignore[assignment]  # a tuple's own index() makes room for PyTorch's name


class Device(_Fields):
    """A device; ``index`` is None for "the current one". Built from ``"cuda:0"`` or ``("cuda", 0)``."""

    __slots__ = ()

    def __new__(cls, type: str | int | Device | None = None, index: int | None = None) -> Device:
        """RuntimeError for a type that does not exist, TypeError without any."""
        if isinstance(type, Device):
            return type
        if isinstance(type, int):
            return super().__new__(cls, "cuda", type)
        if not isinstance(type, str):
            raise TypeError(
                f"device() received an invalid combination of arguments - got ({'' if type is None else _name(type)}), "
                "but expected one of:\n * (torch.device device)\n * (str type, int index = -1)\n"
            )
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        name, parsed = _parse(type)
        return super().__new__(cls, name, parsed if index is None else index)

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )


def _name(value: object) -> str:
    return value.__class__.__name__


def _parse(text: str) -> tuple[str, int | None]:
    """``cpu``, ``cuda``, ``cuda:0``, ``meta``."""
    if not text:
        raise RuntimeError("Device string must not be empty")
    match = re.fullmatch(r"([a-zA-Z_]+)(?::(\d+))?", text)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'")
    if match[1] not in NAMES:
        raise RuntimeError(f"Expected one of {', '.join(NAMES)} device type at start of device string: {match[1]}")
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
    return {"cpu": CPU, "meta": META}.get(device.type, device)
