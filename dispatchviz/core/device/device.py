"""Devices by name, as ``c10::Device``: a type and an index; and the errors of devices.

NB: in PyTorch, tensors live on some twenty device types. Here cpu, cuda and meta have kernels, and only tensors without
memory (wrapper subclasses) are on the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from dispatchviz.core.device import private_backend
from dispatchviz.core.device.declared_in_c import DeclaredInC
from dispatchviz.core.keys.key_set import name_private_backend

NAMES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
    "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip
"""The device types that PyTorch knows by name, in the order of its error message."""


class Device(metaclass=DeclaredInC, name="torch.device"):
    """A device. ``index`` is None for "the current one". It is created from ``"cuda:0"`` or ``("cuda", 0)``.

    There is one object for each device, so equal devices are identical.
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __new__(cls, type: str | int | Device | None = None, index: int | None = None) -> Device:
        """Return the device. Raise RuntimeError for a type that does not exist, TypeError without a type."""
        if isinstance(type, Device):
            return type
        if isinstance(type, int):
            return cls._the("cuda", type)
        if not isinstance(type, str):
            raise TypeError(
                f"device() received an invalid combination of arguments - got ({'' if type is None else _name(type)}), "
                "but expected one of:\n * (torch.device device)\n * (str type, int index = -1)\n"
            )
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        name, parsed = _parse(type)
        return cls._the(name, parsed if index is None else index)

    @classmethod
    def _the(cls, type: str, index: int | None) -> Device:
        known = _devices.get((type, index))
        if known is None:
            known = object.__new__(cls)
            object.__setattr__(known, "type", type)
            object.__setattr__(known, "index", index)
            known = _devices.setdefault((type, index), known)
        return known

    def __setattr__(self, name: str, value: object) -> None:
        """Raise AttributeError: a device is immutable."""
        if name in Device.__slots__:
            raise AttributeError(f"attribute '{name}' of 'torch.device' objects is not writable")
        raise AttributeError(f"'torch.device' object has no attribute '{name}'")

    def __enter__(self) -> Device:
        """Create new tensors on this device (``with torch.device(...)``)."""
        contexts.append(self)
        return self

    def __exit__(self, *raised: object) -> None:
        contexts.pop()

    def __reduce__(self) -> tuple[Callable[..., Device], tuple[str, int | None]]:
        return Device, (self.type, self.index)

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )


_devices: dict[tuple[str, int | None], Device] = {}

contexts: list[Device] = []
"""The devices of ``with torch.device(...)``, innermost last."""


def _name(value: object) -> str:
    return value.__class__.__name__


def _parse(text: str) -> tuple[str, int | None]:
    """Parse ``cpu``, ``cuda``, ``cuda:0``, ``meta``."""
    if not text:
        raise RuntimeError("Device string must not be empty")
    match = re.fullmatch(r"([a-zA-Z_]+)(?::(\d+))?", text)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'")
    private = private_backend.current()
    if match[1] not in NAMES and match[1] != private:
        raise RuntimeError(f"Expected one of {', '.join(NAMES)} device type at start of device string: {match[1]}")
    kind = private if match[1] == private_backend.PLAIN else match[1]
    return kind, None if match[2] is None else int(match[2])


def rename_private_backend(name: str) -> None:
    """Rename the device type of PrivateUse1, also for its devices that exist. Raise RuntimeError for a second name."""
    before = private_backend.current()
    private_backend.choose(name)
    name_private_backend(name)
    for kind, index in [key for key in _devices if key[0] == before != name]:
        device = _devices.pop((kind, index))
        object.__setattr__(device, "type", name)
        _devices[name, index] = device


CPU = Device("cpu", None)
META = Device("meta", None)
CUDA = Device("cuda", 0)
"""The CUDA device. NB: in PyTorch, a process may have several CUDA devices. Here there is one, cuda:0."""


def concrete(device: Device) -> Device:
    """Return the device with the index that a tensor on it has: ``cuda`` means ``cuda:0``, ``cpu`` is unchanged. Raise
    AcceleratorError if there is no such CUDA device.
    """
    if device.type == "cuda":
        if device.index not in (None, 0):
            raise invalid_device()
        return CUDA
    return CPU if device.type == "cpu" else META if device.type == "meta" else device


class AcceleratorError(RuntimeError):
    """The error of a device that failed. ``error_code`` comes from the device's library."""

    error_code: int


AcceleratorError.__module__ = "torch"

_INVALID_DEVICE = 101
"""The number of ``cudaErrorInvalidDevice``."""


def invalid_device() -> AcceleratorError:
    """The error for a device that the machine does not have (``c10_cuda_check_implementation``)."""
    error = AcceleratorError(
        "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n"
        "For more detailed error information, run with CUDA_LOG_FILE=stderr\n"
    )
    error.error_code = _INVALID_DEVICE
    return error


def no_device() -> RuntimeError:
    """The error for a machine without a GPU (``device_count_ensure_non_zero`` of ``c10/cuda/CUDAFunctions.cpp``)."""
    return RuntimeError("No CUDA GPUs are available")
