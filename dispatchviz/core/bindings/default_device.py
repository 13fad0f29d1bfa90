"""The default device of factory functions (``torch/utils/_device.py``, ``torch.set_default_device``).

NB: in PyTorch, a mode adds ``device=`` to the arguments of factory functions. Here the factory functions ask for the
default.
"""

from __future__ import annotations

from dispatchviz.core.device.array_library import has_device
from dispatchviz.core.device.device import CPU, Device, contexts, no_device
from dispatchviz.core.device.missing_devices import check_initialized
from dispatchviz.core.table.pytorch_registrations import chosen_build

_default: list[Device] = []
"""The device set by ``set_default_device``, if any."""


def device_or_default(device: Device | None) -> Device:
    """Return the requested device, or the default one. Raise AssertionError if the build does not have it."""
    if device is None:
        if not contexts and not _default:
            return CPU
        device = contexts[-1] if contexts else _default[0]
    check_compiled(device)
    return device


def check_compiled(device: Device) -> None:
    """Raise AssertionError if the build does not have the device, RuntimeError for CUDA without a GPU
    (``torch.cuda._lazy_init``).
    """
    if device.type == "cuda":
        if chosen_build() == "cpu":
            raise AssertionError("Torch not compiled with CUDA enabled")
        if not has_device():
            raise no_device()
    else:
        check_initialized(device)


def set_default_device(device: Device | str | int | None) -> None:
    """Set the default device for all later calls. None restores the CPU."""
    _default[:] = [] if device is None else [Device(device)]
