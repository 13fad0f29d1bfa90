"""BatchedTensorImpl: a tensor with a hidden batch dimension (``aten/src/ATen/functorch/BatchedTensorImpl.cpp``).

Inside ``vmap`` at level ``level``, a function sees the ``value`` without its dimension ``bdim``. The value may be a
BatchedTensor itself, of a lower level.

Rule 1: a BatchedTensor has the keys that a tensor with its value's backend would get, and FuncTorchBatched.
Rule 2: its sizes and strides are those of the value without the batch dimension. They are copied when it is created and
again when an operator changed the value's geometry (``refresh_metadata``).
"""

from __future__ import annotations

from typing import cast

from msgspec import Struct

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys.key_set import AUTOCAST_KEY, AUTOGRAD_KEY, functorch_batched_ks, highest_backend, raw
from dispatchviz.core.keys.keys import DispatchKey as K
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.native.views.permute import movedim_order
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Size, Storage, Tensor
from dispatchviz.core.thread.thread_state import thread

_PROPAGATED = raw(
    *(K.Negative, K.Conjugate, K.XLA, K.XPU, K.HPU, K.CUDA, K.CPU, K.PrivateUse1),
    *(K.SparseCPU, K.SparseCUDA, K.SparseCsrCPU, K.SparseCsrCUDA),
)
"""The keys that a wrapper copies from the value (``kKeysToPropagateToWrapper``). Meta is not among them."""


def wrapper_keys(value: Tensor, own: int) -> int:
    """The keys of a wrapper, as ``TensorImpl``'s constructor derives them from the value's. ``own`` is the wrapper's
    key.
    """
    keys = value._ks & _PROPAGATED
    backend = highest_backend(keys)
    keys |= raw(AUTOCAST_KEY[backend]) | own
    return keys if thread.state.inference_mode else keys | raw(K.ADInplaceOrView, AUTOGRAD_KEY[backend])


class BatchedTensorImpl(Struct, eq=False):
    """The content of a BatchedTensor."""

    value: Tensor
    """The physical tensor."""
    bdim: int
    """Its hidden dimension."""
    level: int
    """The level of the vmap that hides the dimension, from 1."""


def make_batched(tensor: Tensor, bdim: int | None, level: int) -> Tensor:
    """Hide a dimension; without one, return the tensor itself (``makeBatched``)."""
    if bdim is None:
        return tensor
    below = maybe_get_batched_impl(tensor)
    assert below is None or level > below.level
    assert 0 <= bdim < len(tensor._size)
    keys = wrapper_keys(tensor, functorch_batched_ks)
    size, stride = _without(tensor._size, bdim), _without(tensor._stride, bdim)
    batched = Tensor(keys, None, Storage(None), size, stride, tensor._offset, tensor._dtype, tensor._device)
    batched._impl = BatchedTensorImpl(tensor, bdim, level)
    if recorder.active is not None:
        recorder.active.batched_tensor_made(batched, tensor, bdim, level)
    return batched


def _without(values: Size, dim: int) -> Size:
    return values[:dim] + values[dim + 1 :]


def maybe_get_batched_impl(tensor: Tensor) -> BatchedTensorImpl | None:
    """Return the content of a BatchedTensor of any level; None for other tensors."""
    return batched_impl(tensor) if tensor._ks & functorch_batched_ks else None


def batched_impl(tensor: Tensor) -> BatchedTensorImpl:
    """Return the content of a BatchedTensor."""
    return cast(BatchedTensorImpl, tensor._impl)


def unwrap_at_level(tensor: Tensor, level: int) -> tuple[Tensor, int | None]:
    """Return value and batch dimension if the tensor is batched at exactly this level, else the tensor and None
    (``unwrapTensorAtLevel``).
    """
    impl = maybe_get_batched_impl(tensor)
    if impl is None or impl.level != level:
        return tensor, None
    return impl.value, impl.bdim


def is_batched_at_level(tensor: Tensor | None, level: int) -> bool:
    """Return whether this level hides one of the tensor's dimensions."""
    return tensor is not None and unwrap_at_level(tensor, level)[1] is not None


def refresh_metadata(tensor: Tensor, bdim: int | None = None) -> None:
    """Copy the geometry after the value's was changed (``refreshTensorMetadata``). The batch dimension may have
    moved.
    """
    impl = batched_impl(tensor)
    if bdim is not None:
        impl.bdim = bdim
    tensor._size, tensor._stride = _without(impl.value._size, impl.bdim), _without(impl.value._stride, impl.bdim)
    tensor._offset = impl.value._offset


def add_batch_dim(self: Tensor, batch_dim: int, level: int) -> Tensor:
    """Hide a dimension."""
    return make_batched(self, wrap_dim(batch_dim, len(self._size)), level)


def remove_batch_dim(self: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """Show the hidden dimension at ``out_dim``. A tensor without one is expanded.

    Raise IndexError if the tensor has no dimension ``out_dim``.
    """
    impl = maybe_get_batched_impl(self)
    if impl is None or impl.level < level:
        axis = wrap_dim(out_dim, len(self._size) + 1)
        return ops.expand.call(
            ops.unsqueeze.call(self, axis), (*self._size[:axis], batch_size, *self._size[axis:]), False
        )
    assert impl.level == level
    rank = len(impl.value._size)
    source, target = wrap_dim(impl.bdim, rank), wrap_dim(out_dim, rank)
    return impl.value if source == target else ops.permute.call(impl.value, movedim_order(rank, [source], [target]))
