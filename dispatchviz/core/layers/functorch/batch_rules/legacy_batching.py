"""Legacy batch rules, without plumbing: in-place views, ``cat``, ``stack``, ``split``
(``LegacyBatchingRegistrations.cpp``).

They get the batched tensors themselves, unwrap them with ``logical_to_physical``, and exclude FuncTorchBatched only
during that. With nested vmaps, their other calls reach FuncTorchBatched again and continue there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import ensure_has_bdim, move_batch_dim_to_front
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_views import adjusted_dims
from dispatchviz.core.layers.functorch.batched_tensor import (
    batched_impl,
    is_batched_at_level,
    make_batched,
    refresh_metadata,
)
from dispatchviz.core.layers.functorch.dynamic_layer import current_layer
from dispatchviz.core.layers.functorch.plumbing import Kernel, exclude_batched
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.tensor import Size, Tensor

# -- shared ------------------------------------------------------------------------------------------------------------


def logical_to_physical(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the physical tensors with this level's batch dimension in front (``MultiBatchVmapTransform``).

    Tensors that are not batched at this level are expanded by it.
    """
    level = current_layer().level
    batched = [batched_impl(tensor) for tensor in tensors if is_batched_at_level(tensor, level)]
    size = batched[-1].value._size[batched[-1].bdim]
    with exclude_batched():
        return [_in_front(tensor, level, size) for tensor in tensors]


def _in_front(tensor: Tensor, level: int, size: int) -> Tensor:
    if is_batched_at_level(tensor, level):
        impl = batched_impl(tensor)
        return ops.movedim_int.call(impl.value, impl.bdim, 0)
    room = ops.unsqueeze.call(tensor, 0)
    return ops.expand.call(room, (size, *room._size[1:]), False)


def _physical(tensor: Tensor) -> Tensor:
    """Return the physical tensor of one tensor. Its batch dimension is moved only if it is not in front
    (``permuteBatchDimsToFront``).
    """
    impl = batched_impl(tensor)
    if impl.bdim == 0:
        return impl.value
    rest = (dim for dim in range(len(impl.value._size)) if dim != impl.bdim)
    return ops.permute.call(impl.value, (impl.bdim, *rest))


def _legacy(call: Callable[..., Any], rule: Callable[..., Any]) -> Kernel:
    """Return a kernel that runs the rule if this level batches the (first) tensor, else just the operator."""

    def kernel(ks: int, self: Any, *args: Any) -> Any:
        level = current_layer().level
        members = self if isinstance(self, list) else [self]
        if not any(is_batched_at_level(member, level) for member in members):
            with exclude_batched():
                return call(self, *args)
        return rule(self, *args)

    kernel.__wrapped__ = rule  # type: ignore[attr-defined]
    return kernel


# -- in-place views ----------------------------------------------------------------------------------------------------


def squeeze_(self: Tensor) -> Tensor:
    """Squeeze in place. A batch dimension of size 1 is squeezed too and inserted again."""
    impl = batched_impl(self)
    bdim = impl.bdim - sum(length == 1 for length in impl.value._size[: impl.bdim])
    lost = impl.value._size[impl.bdim] == 1
    ops.squeeze_.call(impl.value)
    if lost:
        # NB: in PyTorch, the result of unsqueeze is dropped here, and reading the geometry fails
        ops.unsqueeze_.call(impl.value, bdim)
    refresh_metadata(self, bdim)
    return self


def squeeze__dims(self: Tensor, dims: Size) -> Tensor:
    """Squeeze in place. Dimensions after the batch dimension are shifted by one."""
    impl = batched_impl(self)
    rank = len(self._size)
    if rank == 0:
        if tuple(dims) not in ((), (0,)):
            shown = ", ".join(map(str, dims))
            raise RuntimeError(f"Dimension is out of range (expected to be in range of [-1, 0], but got [{shown}]")
        return self
    wanted, bdim = adjusted_dims(impl.value, impl.bdim, dims, rank)
    ops.squeeze__dims.call(impl.value, wanted)
    refresh_metadata(self, bdim)
    return self


def squeeze__dim(self: Tensor, dim: int) -> Tensor:
    """Squeeze one dimension, by the rule for several."""
    return squeeze__dims(self, (dim,))


def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """Insert a dimension in place. Before the batch dimension, it shifts that."""
    impl = batched_impl(self)
    axis = wrap_dim(dim, len(self._size) + 1)
    behind = axis >= impl.bdim
    ops.unsqueeze_.call(impl.value, axis + 1 if behind else axis)
    refresh_metadata(self, impl.bdim if behind else impl.bdim + 1)
    return self


def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Transpose in place around the batch dimension. A 0-dim example is unchanged."""
    impl = batched_impl(self)
    rank = len(self._size)
    if rank == 0 and dim0 in (0, -1) and dim1 in (0, -1):
        return self
    axes = [dim + (dim >= impl.bdim) for dim in (wrap_dim(dim0, rank), wrap_dim(dim1, rank))]
    ops.transpose_.call(impl.value, *axes)
    refresh_metadata(self)
    return self


# -- as_strided, new_empty_strided -------------------------------------------------------------------------------------


def as_strided(self: Tensor, size: Size, stride: Size, storage_offset: int | None) -> Tensor:
    """Call ``as_strided`` on each example. Raise RuntimeError if that leaves the example's own memory."""
    physical = _physical(self)
    if len(size) != len(stride):
        raise RuntimeError(
            "Tensor.as_strided(size, stride, ...): size and stride must have the same length! Got size "
            f"{list(size)} and stride {list(stride)}"
        )
    _check_within_slice(physical, size, stride, storage_offset)
    wanted, steps = (physical._size[0], *size), (physical._stride[0], *stride)
    return make_batched(ops.as_strided.call(physical, wanted, steps, storage_offset), 0, current_layer().level)


def _end(size: Size, stride: Size, offset: int) -> int | None:
    """The end of the memory that a geometry can reach; None if it reaches none."""
    if 0 in size:
        return None
    return offset + 1 + sum((length - 1) * step for length, step in zip(size, stride, strict=True))


def _check_within_slice(physical: Tensor, size: Size, stride: Size, storage_offset: int | None) -> None:
    base = physical._offset
    offset = base if storage_offset is None else storage_offset
    end, own_end = _end(size, stride, offset), _end(physical._size[1:], physical._stride[1:], base)
    if end is None:
        return
    what = f"result = tensor.as_strided({list(size)}, {list(stride)}, {offset}) can access memory outside of `tensor`. "
    if own_end is None:
        raise RuntimeError(
            f"{what}`tensor` has no storage but the passed-in (size, stride, storage_offset) imply a result with some "
            "storage. This is not supported inside of vmap, please try to rewrite the `as_strided` call as a sequence "
            "of PyTorch view operations"
        )
    if end > own_end or offset < base:
        raise RuntimeError(
            f"{what}`result` can access some memory in range [{offset}, {end}], but `tensor` can only access some "
            f"memory in range [{base}, {own_end}]. This is not supported inside of vmap, please try to rewrite the "
            "`as_strided` call as a sequence of PyTorch view operations"
        )


def new_empty_strided(self: Tensor, size: Size, stride: Size, *options: Any) -> Tensor:
    """Return examples one after the other, each with the wanted strides."""
    physical = _physical(self)
    if len(size) != len(stride):
        raise RuntimeError(
            f"new_empty_strided(sizes, strides): dimensionality of sizes ({len(size)}) must match dimensionality of "
            f"strides ({len(stride)})"
        )
    step = _end(size, stride, 0) or 0
    wanted, steps = (physical._size[0], *size), (step, *stride)
    result = ops.new_empty_strided.call(physical, wanted, steps, *options)
    return make_batched(result, 0, current_layer().level)


# -- lists -------------------------------------------------------------------------------------------------------------


def stack(tensors: list[Tensor], dim: int) -> Tensor:
    """Give all tensors the batch dimension and stack them."""
    physical = logical_to_physical(tensors)
    axis = 1 + wrap_dim(dim, len(tensors[0]._size) + 1)
    return make_batched(ops.stack.call(physical, axis), 0, current_layer().level)


def cat(tensors: list[Tensor], dim: int) -> Tensor:
    """Give all tensors the batch dimension and concatenate them. Tensors of size [0], which ``cat`` skips, keep that
    size.
    """
    level = current_layer().level
    with exclude_batched():
        shown = next((tensor for tensor in tensors if tensor._size != (0,)), tensors[0])
        dim = wrap_dim(dim, len(shown._size))
        impls = [batched_impl(t) for t in tensors if is_batched_at_level(t, level) and t._size != (0,)]
        size = impls[0].value._size[impls[0].bdim] if impls else None
        parts = [_part(tensor, level, size) for tensor in tensors]
        result = ops.cat.call(parts, dim if size is None else dim + 1)
        return make_batched(result, None if size is None else 0, level)


def _part(tensor: Tensor, level: int, size: int | None) -> Tensor:
    if not is_batched_at_level(tensor, level):
        return tensor if tensor._size == (0,) or size is None else ensure_has_bdim(tensor, False, size)
    impl = batched_impl(tensor)
    if tensor._size == (0,):
        return ops.select_int.call(impl.value, impl.bdim, 0)
    return move_batch_dim_to_front(impl.value, impl.bdim)


def block_diag(tensors: list[Tensor]) -> Tensor:
    """Compute one example after the other, and stack the results."""
    physical = logical_to_physical(tensors)
    blocks = [_block(physical, i) for i in range(physical[0]._size[0])]
    return make_batched(ops.cat.call(blocks, 0), 0, current_layer().level)


def _block(tensors: Sequence[Tensor], example: int) -> Tensor:
    parts = [ops.select_int.call(tensor, 0, example) for tensor in tensors]
    return ops.unsqueeze.call(ops.block_diag.call(parts), 0)


def unbind(self: Tensor, dim: int) -> list[Tensor]:
    """Unbind. Each result is batched."""
    physical = _physical(self)
    axis = 1 + wrap_dim(dim, len(physical._size) - 1)
    level = current_layer().level
    return [make_batched(result, 0, level) for result in ops.unbind_int.call(physical, axis)]


def split_Tensor(self: Tensor, split_size: int, dim: int) -> list[Tensor]:
    """Split. Each result is batched."""
    return _split(ops.split_Tensor.call, self, split_size, dim)


def split_with_sizes(self: Tensor, split_sizes: Size, dim: int) -> list[Tensor]:
    """Split, as ``split_Tensor`` does."""
    return _split(ops.split_with_sizes.call, self, split_sizes, dim)


def split_with_sizes_copy(self: Tensor, split_sizes: Size, dim: int) -> list[Tensor]:
    """Split and copy."""
    return _split(ops.split_with_sizes_copy.call, self, split_sizes, dim)


def _split(call: Callable[..., list[Tensor]], self: Tensor, sizes: int | Size, dim: int) -> list[Tensor]:
    physical = _physical(self)
    axis = 1 + wrap_dim(dim, len(physical._size) - 1)
    level = current_layer().level
    return [make_batched(result, 0, level) for result in call(physical, sizes, axis)]


def resize_(self: Tensor, size: Size, memory_format: str | None) -> Tensor:
    """Resize in place (``resize__plumbing`` of BatchRulesViews.cpp). The batch dimension must be in front."""
    if memory_format not in (None, "contiguous_format"):
        raise RuntimeError("resize_: batching rule only supports None or Contiguous MemoryFormat")
    impl = batched_impl(self)
    if impl.bdim != 0:
        raise RuntimeError(
            'self_bdim == 0 INTERNAL ASSERT FAILED at "aten/src/ATen/functorch/BatchRulesViews.cpp":170, please report '
            "a bug to PyTorch. NYI: resize_ batch rule for batch dim != 0"
        )
    with exclude_batched():
        ops.resize_.call(impl.value, (impl.value._size[0], *size), None)
    refresh_metadata(self)
    return self


KERNELS: dict[str, Kernel] = {
    "squeeze_": _legacy(ops.squeeze_.call, squeeze_),
    "squeeze_.dim": _legacy(ops.squeeze__dim.call, squeeze__dim),
    "squeeze_.dims": _legacy(ops.squeeze__dims.call, squeeze__dims),
    "unsqueeze_": _legacy(ops.unsqueeze_.call, unsqueeze_),
    "transpose_": _legacy(ops.transpose_.call, transpose_),
    "as_strided": _legacy(ops.as_strided.call, as_strided),
    "new_empty_strided": _legacy(ops.new_empty_strided.call, new_empty_strided),
    "stack": _legacy(ops.stack.call, stack),
    "cat": _legacy(ops.cat.call, cat),
    "block_diag": _legacy(ops.block_diag.call, block_diag),
    "split_with_sizes_copy": _legacy(ops.split_with_sizes_copy.call, split_with_sizes_copy),
    "unbind.int": _legacy(ops.unbind_int.call, unbind),
    "split.Tensor": _legacy(ops.split_Tensor.call, split_Tensor),
    "split_with_sizes": _legacy(ops.split_with_sizes.call, split_with_sizes),
    "resize_": _legacy(ops.resize_.call, resize_),
}
"""Kernels for FuncTorchBatched."""
