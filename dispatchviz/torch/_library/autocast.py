"""Autocast rules of custom operators (``register_autocast``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dispatchviz.core.keys.key_set import DispatchKeySet
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.tensor.dtype import float64
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.guards import ExcludeDispatchKeyGuard
from dispatchviz.torch._C import _dispatch_key_for_device
from dispatchviz.torch._ops import OpOverload


def autocast_kernel(op: OpOverload, device_type: str, dtype: Any) -> tuple[Callable[..., Any], str]:
    """Return a kernel that takes the key set, and the name of the key to register it under.

    Raise ValueError with PyTorch's message for a device type without autocast.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    key = DispatchKey.__members__.get(f"Autocast{_dispatch_key_for_device(device_type)}")
    if key is None:
        raise ValueError(f"Device type '{device_type}' does not support autocast.")

    def kernel(_: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise AssertionError(f"Custom ops do not support kwargs yet, got {list(kwargs)}")
        with ExcludeDispatchKeyGuard(key.bits):
            return op(*_cast(args, device_type, dtype))

    return kernel, key.name


def _cast(value: Any, device_type: str, dtype: Any) -> Any:
    """Cast floating tensors on the device, except float64, also inside lists and tuples."""
    if isinstance(value, Tensor):
        floating = value._dtype.is_floating_point and value._dtype is not float64
        tensor: Any = value  # the method is installed by dispatchviz.torch
        return tensor.to(dtype) if floating and value._device.type == device_type else value
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(member, device_type, dtype) for member in value)
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        return value
    return (_cast(member, device_type, dtype) for member in value)
