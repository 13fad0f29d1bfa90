"""``is_grads_batched``: one backward pass for a batch of root gradients, by vmap.

It mirrors the parts of ``torch/_vmap_internals.py`` that ``torch/autograd/__init__.py`` uses.

NB: in PyTorch, this is the older vmap with its key Batched, which is below Autograd. Here it is functorch's, so the
operators of its batch rules run, and with ``create_graph`` the Nodes are for the whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dispatchviz.core.layers.functorch.batched_tensor import add_batch_dim, remove_batch_dim
from dispatchviz.core.layers.functorch.dynamic_layer import init_and_push, pop_and_delete
from dispatchviz.core.layers.functorch.interpreter import VmapInterpreter
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.restoring_state import restores_state

Gradients = tuple[Tensor | None, ...]


@restores_state
def vmapped(vjp: Callable[[Gradients], Gradients], gradients: Sequence[Tensor | None]) -> Gradients:
    """Return the results of ``vjp`` for every entry of the gradients' first dimension. Raise ValueError for gradients
    without a dimension.
    """
    size = _batch_size(gradients)
    level = init_and_push(VmapInterpreter, size, "error")
    try:
        hidden = tuple([None if g is None else add_batch_dim(g, 0, level) for g in gradients])
        return tuple([None if g is None else remove_batch_dim(g, level, size, 0) for g in vjp(hidden)])
    finally:
        pop_and_delete()


def _batch_size(gradients: Sequence[Tensor | None]) -> int:
    for gradient in gradients:
        if not isinstance(gradient, Tensor):
            raise ValueError(
                "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for an input but the input is of type "
                f"{type(gradient)}. We cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
            )
        if not gradient._size:
            raise ValueError(
                "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input is a Tensor of "
                "dimensionality 0 so expected in_dim to satisfy 0 <= in_dim < 0."
            )
    sizes = [gradient._size[0] for gradient in gradients if gradient is not None]
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return sizes[0]
