"""``embedding_bag``: sum, mean or maximum of the embeddings of each bag (``aten/src/ATen/native/EmbeddingBag.cpp``).

``indices`` are rows of ``weight``; ``offsets`` are the positions in ``indices`` at which each bag begins. Rule: sums of
contiguous float, half and bfloat16 rows without padding take the fast path. It does not need the bag of each index, so
``offset2bag`` stays empty. CUDA's kernels always compute it; here one body serves both. The backward functions are in
``embedding_bag_backward.py``, checks in ``embedding_bag_checks.py``.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.autograd.formulas.functions_manual import number_sub
from dispatchviz.core.call.structured import resize
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.embedding.embedding_bag_checks import (
    MAX,
    MEAN,
    SUM,
    check_arguments,
    check_fast_indices,
    check_indices,
    check_ranks,
    promoted,
    unnamed,
)
from dispatchviz.core.native.indexing.ufunc_at import add_at, ufunc_at
from dispatchviz.core.native.iterator.argument_checks import call_maybe_undefined
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, store
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.native.memory.to_dtype import type_as
from dispatchviz.core.tensor.dtype import float64
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, numel

Results = tuple[Tensor, Tensor, Tensor, Tensor]
"""The output, the bag of each index, the size of each bag, and the index of each maximum."""

# -- the public operators ----------------------------------------------------------------------------------------------


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
) -> Results:
    """``embedding_bag`` without a padding row."""
    rest = (scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset)
    return embedding_bag_padding_idx(weight, indices, offsets, *rest, None)


def embedding_bag_padding_idx(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int | None,
) -> Results:
    """Sums, means or maxima of rows.

    It calls ``_embedding_bag`` if a gradient is needed, otherwise ``_embedding_bag_forward_only``.
    """
    padding = -1
    if padding_idx is not None:
        rows = weight._size[0]
        if not -rows <= padding_idx < rows:
            raise RuntimeError(
                f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got "
                f"{padding_idx}"
            )
        padding = wrap_dim(padding_idx, rows)
    with_gradient = weight._requires_grad or weight._fw_grad is not None
    if per_sample_weights is not None:
        with_gradient = with_gradient or per_sample_weights._requires_grad
    operator = ops._embedding_bag if with_gradient else ops._embedding_bag_forward_only
    last = in_format(offsets)  # C++ evaluates the last argument first
    rest = (scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding)
    return call_maybe_undefined(operator, per_sample_weights, weight, in_format(indices), last, *rest)  # type: ignore[no-any-return]


def _embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int,
) -> Results:
    """The results, with the tensors that the backward function needs."""
    return _bags(weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx, True)


def _embedding_bag_forward_only(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int,
) -> Results:
    """The results without the sizes of summed bags."""
    return _bags(weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx, False)


def _bags(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    mode: int,
    samples: Tensor | None,
    include_last_offset: bool,
    padding_idx: int,
    requires_grad: bool,
) -> Results:
    check_ranks(weight, indices, offsets)
    indices, offsets = promoted(indices, offsets)
    check_arguments(weight, indices, offsets, mode, samples, include_last_offset)
    bags = offsets._size[0] - include_last_offset
    output = _empty((bags, weight._size[1]), weight)
    fast = _is_fast(weight, samples, padding_idx)
    offset2bag = _empty((0,), offsets)
    if mode != SUM or not fast:
        starts = ops.narrow.call(offsets, 0, 0, bags) if include_last_offset else offsets
        offset2bag = _cleared(offset2bag, (indices._size[0] + 1,))
        offset2bag = make_offset2bag(starts, offset2bag)
        resize(offset2bag, indices._size, contiguous_strides(indices._size))
        output._array[...] = 0
    bag_size = _bag_sizes(offsets, indices, bags, requires_grad or mode != SUM)
    max_indices = _empty(bag_size._size, offsets)
    if mode == MAX:
        _cleared(max_indices, (bags, weight._size[1]))
        _max_mode(weight, indices, offset2bag, output, max_indices, bag_size, padding_idx)
        return output, offset2bag, bag_size, max_indices
    if fast:
        check_fast_indices(weight, indices, offsets, include_last_offset)
        _add_rows(weight, indices, _fast_bags(offsets, indices, bags), output, samples)
    else:
        _add_rows_and_count(weight, indices, offset2bag, output, samples, bag_size, padding_idx)
    if mode == MEAN:
        _divide(output, bag_size)
    else:
        bag_size._array[...] = 0
    ops.copy_.call(max_indices, bag_size, False)
    return output, offset2bag, bag_size, max_indices


def _empty(size: Size, like: Tensor) -> Tensor:
    return ops.empty_memory_format.call(size, like._dtype, "strided", like._device, None, None)


def _cleared(tensor: Tensor, size: Size) -> Tensor:
    resize(tensor, size, contiguous_strides(size))
    tensor._array[...] = 0
    return tensor


def _is_fast(weight: Tensor, samples: Tensor | None, padding_idx: int) -> bool:
    in_one_piece = weight._stride[1] == 1 and (samples is None or samples._stride[0] == 1)
    return weight._dtype is not float64 and in_one_piece and padding_idx < 0


# -- the bag of each index ---------------------------------------------------------------------------------------------


def make_offset2bag(offsets: Tensor, counted: Tensor) -> Tensor:
    """The bag of each index: the number of bags that have begun by then, minus one.

    ``counted``: zeros, one more than there are indices.
    """
    ones = ops.ones_like.call(offsets, None, None, None, None, "contiguous_format")
    ops.index_add_.call(counted, 0, offsets, ones, 1)
    ops.sub__Scalar.call(ops.select_int.call(counted, 0, 0), 1, 1)
    return ops.cumsum.call(counted, 0, counted._dtype)


def _bag_sizes(offsets: Tensor, indices: Tensor, bags: int, wanted: bool) -> Tensor:
    sizes = _empty(offsets._size, offsets)
    if not wanted:
        return sizes
    resize(sizes, (bags,), (1,))
    if bags != 1:
        starts = ops.slice_Tensor.call(offsets, 0, 0, bags - 1, 1)  # C++ evaluates the right operand first
        ends = ops.slice_Tensor.call(offsets, 0, 1, bags, 1)
        difference = ops.sub_Tensor.call(ends, starts, 1)
        ops.copy_.call(ops.slice_Tensor.call(sizes, 0, 0, bags - 1, 1), difference, False)
    if bags > 0:
        last = number_sub(indices._size[0], ops.select_int.call(offsets, 0, bags - 1))
        ops.copy_.call(ops.select_int.call(sizes, 0, -1), last, False)
    return sizes


def _fast_bags(offsets: Tensor, indices: Tensor, bags: int) -> Any:
    """``offset2bag`` as an array, for the indices that belong to a bag."""
    xp: Any = array_module(offsets._device.type)
    ends = xp.append(offsets._array, numel(indices._size))[1 : bags + 1]
    return xp.repeat(xp.arange(bags), ends - offsets._array[:bags])


# -- sums of rows ------------------------------------------------------------------------------------------------------


def _add_rows_and_count(
    weight: Tensor,
    indices: Tensor,
    offset2bag: Tensor,
    output: Tensor,
    samples: Tensor | None,
    bag_size: Tensor,
    padding_idx: int,
) -> None:
    """Add up the rows of each bag. Padding rows do not belong to it, and reduce its size."""
    if numel(indices._size) != numel(offset2bag._size):
        raise unnamed("select_indices.numel() == add_indices.numel()")
    check_indices(weight, indices)
    padded = indices._array == padding_idx
    ufunc_at("subtract", bag_size._array, offset2bag._array[padded], 1)
    _add_rows(weight, indices, offset2bag._array, output, samples, ~padded)


def _add_rows(
    weight: Tensor, indices: Tensor, bags: Any, output: Tensor, samples: Tensor | None, kept: Any = slice(None)
) -> None:
    """Add up rows one by one; half and bfloat16 as float32."""
    xp: Any = array_module(weight._device.type)
    within = accumulated(weight._dtype).numpy
    positions = indices._array.reshape(-1)[: bags.size]
    rows = weight._array[positions[kept]].astype(within)
    if samples is not None:
        rows = rows * samples._array[: bags.size][kept, None].astype(within)
    total = xp.zeros(output._size, within)
    add_at(total, bags[kept], rows)
    store(output, total)


def _divide(output: Tensor, bag_size: Tensor) -> None:
    """Divide by the sizes of the bags; an empty bag counts as one."""
    ones = ops.ones_like.call(bag_size, None, None, None, None, "contiguous_format")
    counts = type_as(ops.max_other.call(bag_size, ones), output)
    ops.div__Tensor.call(output, ops.expand_as.call(ops.unsqueeze.call(counts, 1), output))


def _max_mode(
    weight: Tensor,
    indices: Tensor,
    offset2bag: Tensor,
    output: Tensor,
    max_indices: Tensor,
    bag_size: Tensor,
    padding_idx: int,
) -> None:
    """Write the maximum of each column of a bag, and the index of the first row that has it."""
    check_indices(weight, indices)
    xp: Any = array_module(weight._device.type)
    padded = indices._array == padding_idx
    ufunc_at("subtract", bag_size._array, offset2bag._array[padded], 1)
    found: dict[int, Any] = {}
    for index, bag in zip(indices._array[~padded].tolist(), offset2bag._array[~padded].tolist(), strict=True):
        row = weight._array[index]
        is_greater = row > output._array[bag] if bag in found else xp.ones(row.shape, bool)
        output._array[bag] = found[bag] = xp.where(is_greater, row, output._array[bag])
        max_indices._array[bag] = xp.where(is_greater, index, max_indices._array[bag])
