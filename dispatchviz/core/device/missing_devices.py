"""Device types that a build does not support: the errors when Python would first use them
(``torch/csrc/utils/device_lazy_init.cpp``), and those of ``to`` (``c10/core/impl/DeviceGuardImplInterface.h``).
"""

from __future__ import annotations

from dispatchviz.core.device import private_backend
from dispatchviz.core.device.array_library import has_device
from dispatchviz.core.device.device import Device, concrete, no_device

_MTIA = (
    "Torch not compiled with MTIA enabled. Ensure you have `import mtia.host_runtime.torch_mtia.dynamic_library` in "
    "your python src file and include `//mtia/host_runtime/torch_mtia:torch_mtia` as your target dependency!"
)
_MODULES = {
    "xpu": (AssertionError, "Torch not compiled with XPU enabled"),
    "mtia": (AssertionError, _MTIA),
    "hpu": (ModuleNotFoundError, "No module named 'torch.hpu'"),
}
"""Types with a Python module that must be initialized before the first tensor."""

_LINKED = ("cpu", "cuda", "meta", "lazy")
"""Types for which a library has a guard."""


def check_initialized(device: Device) -> None:
    """Raise AssertionError or ModuleNotFoundError for a type whose module cannot be initialized
    (``device_lazy_init``).
    """
    if device.type == private_backend.current():
        raise ModuleNotFoundError(f"No module named 'torch.{device.type}'")
    if device.type in _MODULES:
        error, text = _MODULES[device.type]
        raise error(text)


def ensure_has_index(device: Device) -> Device:
    """Return the device with its current index. Raise RuntimeError for a type without a guard."""
    if device.index is None and device.type not in _LINKED:
        raise RuntimeError(f"PyTorch is not linked with support for {device.type} devices")
    return present(device)


def present(device: Device) -> Device:
    """Return the device with its current index. Raise RuntimeError for CUDA without a GPU (``lazyInitDevice``)."""
    if device.type == "cuda" and not has_device():
        raise no_device()
    return concrete(device)
