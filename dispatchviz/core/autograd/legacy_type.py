"""The type strings of old, which error messages still use (``c10/core/TensorOptions.h``, ``toString``)."""

from __future__ import annotations

from dispatchviz.core.tensor import Tensor


def legacy_type(tensor: Tensor) -> str:
    """``torch.FloatTensor``, ``torch.cuda.FloatTensor``."""
    device = "" if tensor._device.type == "cpu" else f"{tensor._device.type}."
    return f"torch.{device}{tensor._dtype.legacy}Tensor"
