"""Wrapping tensors for a level of a transform, and unwrapping (``torch/_functorch/eager_transforms.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.autograd.variables.requires_grad_flag import change_requires_grad
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._C._functorch import _unwrap_for_grad, _wrap_for_grad
from dispatchviz.torch.utils._pytree import tree_map


def wrap_all_tensors(tree: Any, level: int) -> Any:
    """Every tensor as one of that level."""
    return tree_map(lambda value: _wrap_for_grad(value, level) if isinstance(value, Tensor) else value, tree)


def create_differentiable(value: Any) -> Any:
    """``requires_grad_()``, which the user may not call there. ValueError for what is no tensor."""
    if not isinstance(value, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
    return change_requires_grad(value)


def undo_create_differentiable(tree: Any, level: int) -> Any:
    """Every tensor unwrapped to the level below. RuntimeError for what is no tensor."""

    def unwrapped(value: Any) -> Any:
        if not isinstance(value, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(value)}")
        return _unwrap_for_grad(value, level)

    return tree_map(unwrapped, tree)
