"""Legacy type strings such as ``torch.FloatTensor``, which error messages use (``c10/core/TensorOptions.h``,
``toString``)."""

from __future__ import annotations

from dispatchviz.core.tensor.tensor import Tensor

_NAMED = frozenset(("Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double"))
"""Dtypes that had a type of their own in Python when the devices were cpu and cuda."""


def type_string(tensor: Tensor) -> str:
    """The text of ``Tensor.type()``: ``torch.FloatTensor``, ``torch.cuda.FloatTensor``,
    ``torch.meta.BFloat16Tensor``.
    """
    device = tensor._device.type
    return f"torch.{'' if device == 'cpu' else f'{device}.'}{tensor._dtype.legacy}Tensor"


def legacy_type(tensor: Tensor) -> str:
    """The legacy name, ``torch.FloatTensor`` or ``torch.cuda.FloatTensor``; ``CPUBFloat16Type`` or ``MetaFloatType``
    for later dtypes and devices.
    """
    device, dtype = tensor._device.type, tensor._dtype.legacy
    if device in ("cpu", "cuda") and dtype in _NAMED:
        return f"torch.{'' if device == 'cpu' else 'cuda.'}{dtype}Tensor"
    return f"{device.upper() if device != 'meta' else 'Meta'}{dtype}Type"
