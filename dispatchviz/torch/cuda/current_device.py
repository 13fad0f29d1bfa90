"""Queries about the current CUDA device. There is one device or none (``torch/cuda/__init__.py``)."""

from __future__ import annotations

from dispatchviz.core.bindings.default_device import check_compiled
from dispatchviz.core.device.array_library import has_device
from dispatchviz.core.device.device import CUDA, Device, concrete
from dispatchviz.core.table.pytorch_registrations import chosen_build


def is_available() -> bool:
    """Return whether the build has CUDA and the process has a device."""
    return chosen_build() == "cuda" and has_device()


def init() -> None:
    """Initialize CUDA. Raise AssertionError for a build without CUDA, RuntimeError without a device."""
    check_compiled(CUDA)


def device_count() -> int:
    """Return 1 or 0. NB: PyTorch returns the number of the machine's devices."""
    return int(is_available())


def current_device() -> int:
    """Return the index of the device."""
    init()
    return 0


def set_device(device: object) -> None:
    """Make the one device current, which it always is. A negative index and None do nothing. Raise AcceleratorError for
    another device.
    """
    wanted = Device("cuda", device) if isinstance(device, int) and device >= 0 else device
    if isinstance(wanted, (str, Device)):
        init()
        concrete(Device(wanted))


class device:
    """Make the device current for a block: ``with torch.cuda.device(0):``. Raise AcceleratorError for a device that
    does not exist.
    """

    def __init__(self, device: object) -> None:
        self.idx = device if isinstance(device, int) else 0
        self._device = device

    def __enter__(self) -> None:
        set_device(self._device)

    def __exit__(self, *error: object) -> None:
        pass
