"""``restore_vmap``: a function inside a level of vmap of its own (``torch/_functorch/vmap.py``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._C._functorch import _add_batch_dim, _unwrap_batched
from dispatchviz.torch._functorch.vmap import vmap_increment_nesting
from dispatchviz.torch.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten


def restore_vmap(
    func: Callable[..., Any], in_dims: Any, batch_size: int, randomness: str
) -> Callable[..., tuple[Any, Any]]:
    """Return a function that calls ``func`` under vmap and returns its outputs and their batch dimensions."""

    def inner(*args: Any) -> tuple[Any, Any]:
        with vmap_increment_nesting(batch_size, randomness) as level:
            return unwrap_batched(func(*wrap_batched(args, in_dims, level)), level)

    return inner


def wrap_batched(args: Any, bdims: Any, level: int) -> Any:
    """Wrap every tensor as batched along its in_dim; None means not batched."""
    flat, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(bdims, spec)
    assert dims is not None, "dims and arguments have the same structure"
    hidden = [arg if dim is None else _add_batch_dim(arg, dim, level) for arg, dim in zip(flat, dims, strict=True)]
    return tree_unflatten(hidden, spec)


def unwrap_batched(args: Any, level: int) -> tuple[Any, Any]:
    """Return the unwrapped values, and their batch dimensions in the same structure."""
    flat, spec = tree_flatten(args)
    if not flat:
        return args, ()
    pairs = [_unwrap_batched(arg, level) if isinstance(arg, Tensor) else (arg, None) for arg in flat]
    return tree_unflatten([pair[0] for pair in pairs], spec), tree_unflatten([pair[1] for pair in pairs], spec)
