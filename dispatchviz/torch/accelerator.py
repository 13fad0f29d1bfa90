"""``torch.accelerator``: the machine's accelerator, here always CUDA (``torch/accelerator/__init__.py``).

NB: PyTorch's memory statistics are missing: what an emulated device holds is the CPU's memory.
"""

from __future__ import annotations

from dispatchviz.core.device.device import Device
from dispatchviz.torch import cuda
from dispatchviz.torch.cuda import current_stream as current_stream
from dispatchviz.torch.cuda import set_stream as set_stream
from dispatchviz.torch.cuda import synchronize as synchronize


def is_available() -> bool:
    """True: ``cuda`` works on every machine."""
    return cuda.is_available()


def device_count() -> int:
    """One."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> Device:
    """``device(type='cuda')``, without an index."""
    return Device("cuda")


def current_device_index() -> int:
    """Index of the device."""
    return cuda.current_device()


current_device_idx = current_device_index


def set_device_index(device: object) -> None:
    """Makes the one device the current one, which it is. RuntimeError for another."""
    cuda.set_device(device)


set_device_idx = set_device_index
