"""The default device of factory functions (``torch/utils/_device.py``, ``torch.set_default_device``).

NB: in PyTorch a mode adds ``device=`` to the arguments of factory functions; here they ask.
"""

from __future__ import annotations

from dispatchviz.core.device.device import CPU, Device
from dispatchviz.core.table.pytorch_registrations import chosen_build

_default: list[Device] = []
"""What ``set_default_device`` has set, if anything; then those of ``with torch.device(...)``, innermost last."""
_contexts: list[Device] = []


def device_or_default(device: Device | None) -> Device:
    """The requested device, or the default one. AssertionError for CUDA in a build without it."""
    if device is None:
        return _contexts[-1] if _contexts else _default[0] if _default else CPU
    check_compiled(device)
    return device


def check_compiled(device: Device) -> None:
    """AssertionError if the device is CUDA and the build has none (``torch.cuda._lazy_init``)."""
    if device.type == "cuda" and chosen_build() == "cpu":
        raise AssertionError("Torch not compiled with CUDA enabled")


def set_default_device(device: Device | str | int | None) -> None:
    """For all that follows; None: the CPU again."""
    _default[:] = [] if device is None else [Device(device)]


def enter(device: Device) -> None:
    """``with device:`` begins."""
    _contexts.append(device)


def leave() -> None:
    """It ends."""
    _contexts.pop()
