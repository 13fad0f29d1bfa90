"""Backward of ``_embedding_bag``; ``embedding_renorm_`` (``EmbeddingBag.cpp``, ``Embedding.cpp`` in
``aten/src/ATen/native``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.structured import resize
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.embedding.embedding_bag import make_offset2bag
from dispatchviz.core.native.embedding.embedding_bag_checks import MAX, MEAN, SUM, check_index_dtypes, promoted
from dispatchviz.core.native.indexing.ufunc_at import add_at
from dispatchviz.core.native.iterator.argument_checks import (
    TensorArg,
    call_maybe_undefined,
    check_contiguous,
    check_dim,
    check_scalar_types,
)
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.tensor_iterator import accumulated
from dispatchviz.core.tensor.dtype import bfloat16, float16, float32, float64, int32, int64
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like

# -- gradients of the weight -------------------------------------------------------------------------------------------


def _embedding_bag_backward_symint(
    grad: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    padding_idx: int,
) -> Tensor:
    """The dense gradient. Raise NotImplementedError for sparse gradients."""
    indices, offsets = promoted(indices, offsets)
    check_index_dtypes(indices, offsets)
    check_contiguous("embedding_bag", TensorArg(indices, "indices", 1))
    check_contiguous("embedding_bag", TensorArg(offsets, "offsets", 1))
    if numel(indices._size) and not numel(offset2bag._size):
        zeros = ops.new_zeros.call(offsets, (indices._size[0] + 1,), offsets._dtype, "strided", offsets._device, None)
        offset2bag = _shortened(make_offset2bag(offsets, zeros), indices._size[0])
    else:
        _check_bags(offset2bag)
    if sparse:
        raise NotImplementedError("sparse gradients are not part of the model")
    rest = (num_weights, scale_grad_by_freq, mode, per_sample_weights, padding_idx)
    args = (grad, indices, offset2bag, bag_size, maximum_indices, *rest)
    return call_maybe_undefined(ops._embedding_bag_dense_backward, per_sample_weights, *args)  # type: ignore[no-any-return]


def _shortened(bags: Tensor, count: int) -> Tensor:
    if is_tensor_subclass_like(bags):
        return ops.narrow.call(bags, 0, 0, count)
    return ops.resize_.call(bags, (count,), None)


def _check_bags(offset2bag: Tensor) -> None:
    check_scalar_types("embedding_bag", TensorArg(offset2bag, "offset2bag", 1), int64, int32)
    check_contiguous("embedding_bag", TensorArg(offset2bag, "offset2bag", 1))


def _embedding_bag_dense_backward(
    grad: Tensor,
    indices: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Tensor | None,
    padding_idx: int,
) -> Tensor:
    """Zeros with each bag's gradient added to its rows."""
    rows = in_format(grad)
    check_scalar_types("embedding_bag", TensorArg(rows, "grad_", 1), float16, bfloat16, float32, float64)
    if mode == MAX:
        return _max_mode_backward(grad, bag_size, maximum_indices, num_weights)
    result = ops.zeros.call((num_weights, rows._size[1]), rows._dtype, "strided", rows._device, None)
    indices, order = ops.sort.call(indices, -1, False)
    bags = ops.index_select.call(offset2bag, 0, order)._array
    xp: Any = array_module(grad._device.type)
    scale = xp.ones(bags.shape, "float64")
    if per_sample_weights is not None:
        scale = ops.index_select.call(per_sample_weights, 0, order)._array.astype("float64")
    if scale_grad_by_freq:
        scale = scale / _frequencies(indices._array)
    if mode == MEAN:
        scale = scale / xp.maximum(bag_size._array[bags], 1)
    kept = indices._array != padding_idx
    parts = rows._array[bags[kept]] * scale[kept, None].astype(rows._dtype.numpy)
    add_at(result._array, indices._array[kept], parts)
    return result


def _frequencies(indices: Any) -> Any:
    """The frequency of each index."""
    return (indices[:, None] == indices).sum(1)


def _max_mode_backward(grad: Tensor, bag_size: Tensor, max_indices: Tensor, num_weights: int) -> Tensor:
    """Add the gradients column by column, for the bags that are not empty."""
    result = ops.zeros.call((num_weights, grad._size[1]), grad._dtype, "strided", grad._device, None)

    def of_filled(tensor: Tensor) -> Tensor:
        return ops.index_select.call(tensor, 0, ops.view.call(ops.nonzero.call(bag_size), (-1,)))

    indices, rows = of_filled(max_indices), of_filled(grad)
    for dim in range(grad._size[1]):
        written = ops.select_int.call(result, 1, dim)
        column = ops.select_int.call(rows, 1, dim)  # C++ evaluates the last argument first
        index = ops.select_int.call(indices, 1, dim)
        ops.index_add_.call(written, 0, index, column, 1)
    return result


# -- gradients of per-sample weights -----------------------------------------------------------------------------------


def _embedding_bag_per_sample_weights_backward(
    grad: Tensor, weight: Tensor, indices: Tensor, offsets: Tensor, offset2bag: Tensor, mode: int, padding_idx: int
) -> Tensor:
    """The dot product of each index's row with the gradient of its bag. Raise RuntimeError for modes other than sum."""
    if mode != SUM:
        raise RuntimeError("embedding_bag_backward: per_sample_weights only supported for mode='sum'")
    indices, offsets = promoted(indices, offsets)
    count = indices._size[0]
    output = ops.zeros.call((count,), grad._dtype, "strided", grad._device, None)
    check_scalar_types("embedding_bag", TensorArg(indices, "indices", 1), int64, int32)
    check_contiguous("embedding_bag", TensorArg(indices, "indices", 1))
    if count and not numel(offset2bag._size):
        zeros = ops.zeros.call((count + 1,), offset2bag._dtype, "strided", offset2bag._device, None)
        offset2bag = make_offset2bag(offsets, zeros)
        resize(offset2bag, (count,), (1,))
    else:
        _check_bags(offset2bag)
    kept = indices._array != padding_idx
    within = accumulated(grad._dtype).numpy
    rows = weight._array[indices._array[kept]].astype(within)
    output._array[kept] = (rows * grad._array[offset2bag._array[kept]].astype(within)).sum(1)
    return output


# -- embedding_renorm_ -------------------------------------------------------------------------------------------------


def embedding_renorm_(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows named by the indices down to a norm of ``max_norm``, if theirs is larger."""
    check_dim("embedding_renorm_", TensorArg(self, "self", 1), 2)
    check_scalar_types("embedding_renorm_", TensorArg(indices, "indices", 2), int64, int32)
    positions = in_format(indices)._array.reshape(-1).tolist()
    for index in sorted(set(positions)):
        row = ops.select_int.call(self, 0, index)
        norm = float(ops.item.call(ops.norm_Scalar.call(row, norm_type)))  # type: ignore[arg-type]
        if norm > max_norm:
            ops.mul__Scalar.call(row, max_norm / (norm + 1e-7))
    return self
