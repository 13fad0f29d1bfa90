"""Which of the CUDA devices is current: there is one (``torch/cuda/__init__.py``)."""

from __future__ import annotations

from dispatchviz.core.device.device import Device, concrete


def device_count() -> int:
    """One. NB: in PyTorch, as many as the machine has."""
    return 1


def current_device() -> int:
    """Index of the device."""
    return 0


def set_device(device: object) -> None:
    """Makes the one device current, which it is; a negative index and None do nothing. AcceleratorError for another."""
    wanted = Device("cuda", device) if isinstance(device, int) and device >= 0 else device
    if isinstance(wanted, (str, Device)):
        concrete(Device(wanted))


class device:
    """``with torch.cuda.device(0):`` the device is current within. AcceleratorError for one that is not there."""

    def __init__(self, device: object) -> None:
        self.idx = device if isinstance(device, int) else 0
        self._device = device

    def __enter__(self) -> None:
        set_device(self._device)

    def __exit__(self, *error: object) -> None:
        pass
