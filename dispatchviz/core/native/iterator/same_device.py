"""The check of devices in PyTorch's Python meta functions (``torch/_prims_common/__init__.py``).

Where kernels run it finds nothing: tensors on CPU and CUDA have met a check before.
"""

from __future__ import annotations

from dispatchviz.core.tensor.tensor import Tensor


def check_same_device(*tensors: Tensor) -> None:
    """RuntimeError for the first tensor on another device than those before it; numbers on the CPU go with all."""
    devices = [each._device for each in tensors if each._size or each._device.type != "cpu"]
    for device in devices:
        if device is not devices[0]:
            raise RuntimeError(f"Tensor on device {device} is not on the expected device {devices[0]}!")
