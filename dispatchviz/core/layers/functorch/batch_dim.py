"""``_add_batch_dim``, ``_remove_batch_dim``: a dimension hidden at a level of vmap
(``torch/csrc/functorch/init.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batched_tensor import make_batched, maybe_get_batched_impl
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.native.views.permute import movedim_order
from dispatchviz.core.tensor.tensor import Tensor


def add_batch_dim(self: Tensor, batch_dim: int, level: int) -> Tensor:
    """Hides a dimension."""
    return make_batched(self, wrap_dim(batch_dim, len(self._size)), level)


def remove_batch_dim(self: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """Shows the hidden dimension at ``out_dim``; a tensor that has none is expanded by it.

    IndexError if the tensor has no such place.
    """
    impl = maybe_get_batched_impl(self)
    if impl is None or impl.level < level:
        axis = wrap_dim(out_dim, len(self._size) + 1)
        return ops.expand.call(self, (*self._size[:axis], batch_size, *self._size[axis:]), False)
    assert impl.level == level
    rank = len(impl.value._size)
    source, target = wrap_dim(impl.bdim, rank), wrap_dim(out_dim, rank)
    return impl.value if source == target else ops.permute.call(impl.value, movedim_order(rank, [source], [target]))
