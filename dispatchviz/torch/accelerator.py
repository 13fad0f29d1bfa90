"""``torch.accelerator``: the machine's accelerator, here CUDA or none (``torch/accelerator/__init__.py``).

NB: PyTorch's memory statistics are missing, because an emulated device keeps its data in CPU memory.
"""

from __future__ import annotations

from dispatchviz.core.device.device import Device
from dispatchviz.core.table.pytorch_registrations import chosen_build
from dispatchviz.torch import cuda
from dispatchviz.torch.cuda import current_stream as current_stream
from dispatchviz.torch.cuda import set_stream as set_stream


def is_available() -> bool:
    """Return whether there is a CUDA device."""
    return cuda.is_available()


def device_count() -> int:
    """Return the number of devices, 0 or 1."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> Device | None:
    """Return ``device(type='cuda')``, without an index. Return None for a build without CUDA, or if availability is
    checked and there is no device.
    """
    missing = chosen_build() == "cpu" or (check_available and not is_available())
    return None if missing else Device("cuda")


def current_device_index() -> int:
    """Return the index of the device. Raise RuntimeError without an accelerator."""
    _check()
    return cuda.current_device()


current_device_idx = current_device_index


def set_device_index(device: object) -> None:
    """Make the one device the current one, which it always is. Raise RuntimeError for another."""
    cuda.set_device(device)


set_device_idx = set_device_index


def synchronize(device: object = None) -> None:
    """Wait for the accelerator. Raise RuntimeError if there is none."""
    _check()
    cuda.synchronize(device)


def _check() -> None:
    if chosen_build() == "cpu":
        raise RuntimeError("Cannot access accelerator device when none is available.")
