"""Devices for which there is no generator: PyTorch asks the hooks of the backend, which a build without it has not
(``Context::getAcceleratorHooksInterface`` of ``aten/src/ATen/Context.h``, ``aten/src/ATen/detail/*HooksInterface.h``).
"""

from __future__ import annotations

from dispatchviz.core.device.device import Device

HERE = frozenset({"cpu", "cuda"})

NO_ACCELERATORS = frozenset(
    {"fpga", "ideep", "ipu", "lazy", "maia", "meta", "mkldnn", "opencl", "opengl", "ve", "vulkan"}
)
"""Types without hooks."""

TEXTS = {
    **dict.fromkeys(("hip", "hpu"), "Backend doesn`t support getNewGenerator()"),
    "mps": "Cannot execute getNewGenerator() without MPS backend.",
    "mtia": "Cannot execute getNewGenerator() without MTIA backend.",
    "xla": "Cannot get XLA generator without torch_xla library. This error has occurred because you are trying to use "
    "some XLA functionality, but the XLA library has not been loaded by the dynamic linker. You must load xla "
    "libraries by `import torch_xla`",
    "xpu": "Cannot get XPU generator without ATen_xpu library.",
}
"""What hooks say that no library has replaced."""

PRIVATE_USE = "Please register PrivateUse1HooksInterface by `RegisterPrivateUse1HooksInterface` first."


def check_generator(device: Device) -> None:
    """RuntimeError if a device has no generator."""
    kind = device.type
    if kind in HERE:
        return
    if kind in NO_ACCELERATORS:
        raise RuntimeError(f"{kind.upper()} device type not an accelerator.")
    raise RuntimeError(TEXTS.get(kind, PRIVATE_USE))
