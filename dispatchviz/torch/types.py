"""``torch.types``: names of types for annotations."""

from __future__ import annotations

from dispatchviz.core.device.device import Device
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor

Number = int | float | bool
"""Python's type for a schema's Scalar."""

_dtype = DType
_device = Device

__all__ = ["Device", "Number", "Tensor"]
