"""``torch._utils``: rebuilding tensors from pickles (``torch/_utils.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.tensor.conj_neg_bits import is_conj, is_neg, set_conj, set_neg
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.storage import TypedStorage


def _rebuild_tensor(storage: TypedStorage, storage_offset: int, size: Any, stride: Any) -> Any:
    """Return a tensor on a storage."""
    bytes_ = storage.untyped()
    tensor = torch.empty((0,), dtype=storage.dtype, device=bytes_.device)
    return tensor.set_(bytes_, storage_offset, tuple(size), tuple(stride))


def _rebuild_tensor_v2(
    storage: TypedStorage,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Any:
    """Return a leaf on a storage."""
    tensor = _rebuild_tensor(storage, storage_offset, size, stride)
    tensor.requires_grad = requires_grad
    if metadata:
        set_tensor_metadata(tensor, metadata)
    return tensor


def _rebuild_meta_tensor_no_storage(dtype: Any, size: Any, stride: Any, requires_grad: bool) -> Any:
    """Return a meta tensor, which shares no storage."""
    return torch.empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)


def get_tensor_metadata(tensor: Any) -> dict[str, bool]:
    """Return the conjugate and the negative bit, if the tensor has them."""
    bits = {"conj": is_conj(tensor), "neg": is_neg(tensor)}
    return {name: bit for name, bit in bits.items() if bit}


def set_tensor_metadata(tensor: Any, metadata: dict[str, bool]) -> None:
    """Set the conjugate and the negative bit."""
    if "conj" in metadata:
        set_conj(tensor, True)
    if "neg" in metadata:
        set_neg(tensor, True)


def _rebuild_parameter(data: Any, requires_grad: bool, backward_hooks: Any) -> Any:
    """Return a Parameter from a tensor."""
    return torch.nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data: Any, requires_grad: bool, backward_hooks: Any, state: Any) -> Any:
    """Return a Parameter with attributes."""
    parameter = torch.nn.Parameter(data, requires_grad)
    vars(parameter).update(state)
    return parameter
