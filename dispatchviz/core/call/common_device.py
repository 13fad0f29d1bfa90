"""The check of devices in CUDA's generated kernels (``aten/src/ATen/core/op_registration/adaption.h``)."""

from __future__ import annotations

from dispatchviz.core.device.device import Device
from dispatchviz.core.tensor.tensor import Tensor

_LISTS = (list, tuple)


def check_common_device(method: str, /, **arguments: Tensor | list[Tensor] | list[Tensor | None] | None) -> None:
    """Check each argument, a tensor, a list of tensors or None (``check_and_update_common_device``).

    Raise RuntimeError for the first tensor that is on another device than the tensors before it. Undefined tensors are
    ignored.
    """
    common: Device | None = None
    for name, argument in arguments.items():
        for tensor in argument if isinstance(argument, _LISTS) else (argument,):
            if tensor is not None:
                if common is None:
                    common = tensor._device
                elif tensor._device is not common:
                    raise _different(method, name, tensor, common)


def _different(method: str, name: str, tensor: Tensor, common: Device) -> RuntimeError:
    """The error of ``common_device_check_failure``."""
    return RuntimeError(
        f"Expected all tensors to be on the same device, but got {name} is on {tensor._device}, different from other "
        f"tensors on {common} (when checking argument in method {method})"
    )
