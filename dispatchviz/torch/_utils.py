"""``torch._utils``: rebuilding tensors from pickles (``torch/_utils.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.storage import TypedStorage


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
    bytes_ = storage.untyped()
    tensor = torch.empty((0,), dtype=storage.dtype, device=bytes_.device)
    tensor.set_(bytes_, storage_offset, tuple(size), tuple(stride))
    tensor.requires_grad = requires_grad
    return tensor


def _rebuild_parameter(data: Any, requires_grad: bool, backward_hooks: Any) -> Any:
    """Return a Parameter from a tensor."""
    return torch.nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data: Any, requires_grad: bool, backward_hooks: Any, state: Any) -> Any:
    """Return a Parameter with attributes."""
    parameter = torch.nn.Parameter(data, requires_grad)
    vars(parameter).update(state)
    return parameter


def _rebuild_from_type_v2(func: Any, new_type: Any, args: Any, state: Any) -> Any:
    """Return a tensor of a subclass, or with attributes."""
    made = func(*args)
    if type(made) is not new_type:
        made = made.as_subclass(new_type)
    vars(made).update(state)
    return made


for _function in (_rebuild_tensor_v2, _rebuild_parameter, _rebuild_parameter_with_state, _rebuild_from_type_v2):
    _function.__module__ = "torch._utils"
