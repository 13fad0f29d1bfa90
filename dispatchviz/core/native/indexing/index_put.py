"""``index``, ``index_put``: advanced indexing with tensors of indices
(``aten/src/ATen/native/TensorAdvancedIndexing.cpp``, ``IndexingUtils.h``).

Masks become indices through ``nonzero``; all indices are broadcast together. The tensor is then viewed with stride 0 in
its indexed dimensions, and each index tensor as one that broadcasts over the other dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dispatchviz.core.call.structured import Structured, broadcast_sizes
from dispatchviz.core.device.device import META
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.indexing.ufunc_at import add_at
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.strides import result_geometry
from dispatchviz.core.native.iterator.tensor_iterator import common_device
from dispatchviz.core.seam.outside_errors import is_from_outside
from dispatchviz.core.tensor.dtype import bool_, int32, int64, uint8
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, numel
from dispatchviz.core.thread.warning import warn_python

Indices = Sequence[Tensor | None]

_MASKS = (bool_, uint8)


class AdvancedIndex(NamedTuple):
    """The prepared tensor and indices of an advanced indexing loop (``AdvancedIndex``)."""

    array: Any
    """The tensor's memory, with its indexed dimensions adjacent; None on the meta device."""
    source: Tensor
    """The restrided tensor in the shape of the result."""
    indices: list[Tensor]
    """The broadcast indices, one for each indexed dimension."""
    restrided: list[Tensor]
    """The indices with dimensions of size 1 for the dimensions that are not indexed."""
    before: int
    """The number of dimensions before the indexed ones."""
    lengths: Size
    """The sizes of the indexed dimensions."""

    def key(self) -> tuple[Any, ...]:
        """The NumPy index that reads or writes ``array``. Raise IndexError for an index out of range."""
        _check_indices(self.indices, self.lengths)
        return (*(slice(None),) * self.before, *(index._array for index in self.indices))


def make_info(self: Tensor, indices: Indices) -> AdvancedIndex:
    """Prepare the indices that a user gave. Raise IndexError if they do not fit."""
    for index in indices:
        if index is not None and index._dtype not in (int64, int32, *_MASKS):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    expanded: list[Tensor | None] = _broadcast(_expand_tensors(self, indices))
    expanded += [None] * (len(self._size) - len(expanded))
    if not _side_by_side(expanded):
        self, expanded = _transpose_to_front(self, expanded)
    return _advanced_index(self, _as_long(expanded))


def _as_long(indices: Indices) -> list[Tensor | None]:
    return [
        index if index is None or index._dtype is int64 else ops.to_dtype.call(index, int64, False, False, None)
        for index in indices
    ]


def _expand_tensors(self: Tensor, indices: Indices, move: bool = True) -> list[Tensor | None]:
    """One index tensor for each dimension of a mask (``expandTensors``).

    ``move``: move the indices to the device of self.
    """
    found: list[Tensor | None] = []
    for index in indices:
        if index is None or index._dtype not in _MASKS:
            is_elsewhere = move and index is not None and index._device not in (self._device, META)
            found.append(_to_device(index, self) if index is not None and is_elsewhere else index)
            continue
        if index._dtype is uint8:
            warn_python(
                "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
                "aten/src/ATen/native/IndexingUtils.h:37",
            )
        _check_mask(self, index, len(found))
        nonzero = ops.nonzero.call(index)
        if index._device != self._device:
            nonzero = _to_device(nonzero, self)
        found += [ops.select_int.call(nonzero, 1, dim) for dim in range(len(index._size))]
    return found


def _to_device(index: Tensor, self: Tensor) -> Tensor:
    return ops.to_dtype_layout.call(index, None, None, self._device, None, False, False, None)


def _check_mask(self: Tensor, mask: Tensor, at: int) -> None:
    for dim, length in enumerate(mask._size):
        if at + dim >= len(self._size) or length != self._size[at + dim]:
            raise IndexError(
                f"The shape of the mask {list(mask._size)} at index {dim} does not match the shape of the indexed "
                f"tensor {list(self._size)} at index {at + dim}"
            )


def _broadcast(indices: list[Tensor | None]) -> list[Tensor | None]:
    """The indices, broadcast together (``expand_outplace``)."""
    size: Size = ()
    try:
        for index in indices:
            size = size if index is None else broadcast_sizes(size, index._size)
    except RuntimeError as error:
        if is_from_outside(error):
            raise
        shapes = ", ".join(str(list(index._size)) for index in indices if index is not None)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    return [index if index is None or index._size == size else ops.expand.call(index, size, False) for index in indices]


def _side_by_side(indices: Indices) -> bool:
    """Return whether the indexed dimensions are adjacent (``hasContiguousSubspace``)."""
    named = [dim for dim, index in enumerate(indices) if index is not None]
    return not named or named[-1] - named[0] == len(named) - 1


def _front_first(indices: Indices) -> list[int]:
    """The order of dimensions with the indexed ones first."""
    return sorted(range(len(indices)), key=lambda dim: indices[dim] is None)


def _transpose_to_front(self: Tensor, indices: Indices) -> tuple[Tensor, list[Tensor | None]]:
    order = _front_first(indices)
    return ops.permute.call(self, tuple(order)), [indices[dim] for dim in order]


def _advanced_index(self: Tensor, indices: Indices) -> AdvancedIndex:
    named = [dim for dim, index in enumerate(indices) if index is not None]
    before, end = (named[0], named[-1] + 1) if named else (len(self._size), len(self._size))
    positions = [index for index in indices if index is not None]
    lengths, shape = self._size[before:end], positions[0]._size if positions else ()
    if 0 in lengths and 0 not in shape:
        raise IndexError("index is out of bounds for dimension with size 0")
    size = (*self._size[:before], *shape, *self._size[end:])
    stride = (*self._stride[:before], *(0,) * len(shape), *self._stride[end:])
    source = ops.as_strided.call(self, size, stride, None)
    wide = (*(1,) * before, *shape, *(1,) * (len(self._size) - end))
    restrided = [ops.reshape.call(index, wide) for index in positions]
    if self._device.type == "cuda" and len({index._stride for index in restrided}) > 1:
        restrided = [ops.contiguous.call(index, "contiguous_format") for index in restrided]
    return AdvancedIndex(self._array, source, positions, restrided, before, lengths)


def _check_indices(indices: list[Tensor], lengths: Size) -> None:
    """Raise IndexError for the first index out of range. The message names its position among the index tensors."""
    wrong = [
        (index._array < -length) | (index._array >= length) for index, length in zip(indices, lengths, strict=True)
    ]
    if not any(each.any() for each in wrong):
        return
    first = min(int(each.reshape(-1).argmax()) for each in wrong if each.any())
    position = next(i for i, each in enumerate(wrong) if each.reshape(-1)[first])
    value = int(indices[position]._array.reshape(-1)[first])
    raise IndexError(f"index {value} is out of bounds for dimension {position} with size {lengths[position]}")


# -- index -------------------------------------------------------------------------------------------------------------


def index_Tensor_meta(op: Structured, self: Tensor, indices: Indices) -> AdvancedIndex:
    """The shape in which the broadcast shape of the indices replaces the indexed dimensions, or precedes the others."""
    _check_count(self, indices)
    _check_devices(self, indices)
    if op.variant == "out" and op.output._dtype is not self._dtype:
        raise RuntimeError(
            f"index_out: self ({self._dtype.legacy}) and result ({op.output._dtype.legacy}) must have the same scalar "
            "type"
        )
    info = make_info(self, indices)
    operands = (info.source, *info.restrided)
    size, stride = result_geometry(tuple([(t._size, t._stride) for t in operands]))
    op.set_output_raw_strided(size, stride, self._dtype, self._device)
    return info


def _check_count(self: Tensor, indices: Indices) -> None:
    if len(indices) > len(self._size):
        raise IndexError(f"too many indices for tensor of dimension {len(self._size)} (got {len(indices)})")


def _check_devices(self: Tensor, indices: Indices) -> None:
    """Raise RuntimeError for CUDA indices of a CPU tensor (``check_indices_on_cpu_or_selfdevice``).

    The meta device has no check.
    """
    for index in indices:
        if index is not None and index._device.type == "cuda" and self._device.type == "cpu":
            raise RuntimeError(
                f"indices should be either on cpu or on the same device as the indexed tensor ({self._device})"
            )


def index_out(self: Tensor, precomputed: AdvancedIndex, out: Tensor) -> None:
    """self at the indices"""
    if numel(out._size):
        out._array[...] = precomputed.array[precomputed.key()]


def _unsafe_index(self: Tensor, indices: list[Tensor | None]) -> Tensor:
    """``index``. Compilers may omit its checks."""
    return ops.index_Tensor.call(self, indices)


# -- index_put ---------------------------------------------------------------------------------------------------------


def index_put_(self: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool) -> Tensor:
    """Write values at the indices, in place."""
    return ops._index_put_impl_.call(self, indices, values, accumulate, False)


def index_put(self: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool) -> Tensor:
    """A copy with the values written at the indices."""
    return ops.index_put_.call(ops.clone.call(self, "preserve_format"), indices, values, accumulate)


def _unsafe_index_put(self: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool) -> Tensor:
    """``index_put``. Compilers may omit its checks."""
    return ops.index_put.call(self, indices, values, accumulate)


def _index_put_impl_(
    self: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool, unsafe: bool
) -> Tensor:
    """Write or add values at the indices, in place. Raise RuntimeError for values of another dtype or shape."""
    _check_count(self, indices)
    if any(step == 0 and length > 1 for step, length in zip(self._stride, self._size, strict=True)):
        warn_python(
            "Use of index_put_ on expanded tensors is deprecated. Please clone() the tensor before performing this "
            "operation. This also applies to advanced indexing e.g. tensor[indices] = tensor",
            "aten/src/ATen/native/TensorAdvancedIndexing.cpp:976",
        )
    if not accumulate and (mask := _as_masked_fill(self, indices, values)) is not None:
        return ops.masked_fill__Scalar.call(self, mask, ops.item.call(values))
    if values._device != self._device and not values._size:
        values = _to_device(values, self)
    if accumulate and self._device.type == "cuda" and values._device is not self._device:
        raise RuntimeError(f"expected device {self._device} but got device {values._device} for value tensor")
    if accumulate and self._device.type == "cuda" and any(index is not None for index in indices):
        _accumulate_sorted(self, indices, values, unsafe)
        return self
    info = make_info(self, indices)
    _check_values(info.source._size, self, values)
    if numel(info.source._size) and info.array is not None:
        _write(self, info, values, accumulate)
    return self


def _as_masked_fill(self: Tensor, indices: Indices, values: Tensor) -> Tensor | None:
    """The mask, if the indices are one mask and ``values`` is one number (``canDispatchToMaskedFill``)."""
    if numel(values._size) != 1 or values._device.type != "cpu":
        return None
    mask: Tensor | None = None
    named = 0
    for index in indices:
        if index is None:
            named += mask is None
            continue
        if index._dtype not in _MASKS or index._device != self._device or mask is not None:
            return None
        mask = index
        _check_mask(self, index, named)
        named += len(index._size)
    for _ in range(len(self._size) - named):
        mask = ops.unsqueeze.call(mask, -1)  # type: ignore[arg-type]
    return mask


def _check_values(size: Size, target: Tensor, values: Tensor) -> None:
    lead = len(size) - len(values._size)
    fits = lead >= 0 and all(a in (1, b) for a, b in zip(values._size, size[lead:], strict=True))
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values._size)} cannot be broadcast to indexing result of "
            f"shape {list(size)}"
        )
    if target._dtype is not values._dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {target._dtype.legacy} for the "
            f"destination and {values._dtype.legacy} for the source."
        )
    common_device((target, values))


def _write(self: Tensor, info: AdvancedIndex, values: Tensor, accumulate: bool) -> None:
    if accumulate:
        add_at(info.array, info.key(), values._array)
    else:
        info.array[info.key()] = values._array


# -- index_put on CUDA -------------------------------------------------------------------------------------------------


def _accumulate_sorted(self: Tensor, indices: Indices, values: Tensor, unsafe: bool) -> None:
    """Add values at the indices as CUDA does: sort the linear indices, so that one thread adds to each position
    (``index_put_with_sort_kernel`` of ``cuda/Indexing.cu``).

    NB: only the calls are those of CUDA. The values are added as on the CPU, and nothing is sorted.
    """
    kept = in_format(self)
    found = _broadcast(_as_long(_expand_tensors(kept, indices, move=False)))
    found += [None] * (len(kept._size) - len(found))
    order = list(range(len(found)) if _side_by_side(found) else _front_first(found))
    source = kept
    if order != sorted(order):
        source, found = ops.permute.call(kept, tuple(order)), [found[dim] for dim in order]
    linear, places = _linear_index(source, found, unsafe)
    before = next(dim for dim, index in enumerate(found) if index is not None)
    after = source._size[before + len(places) :]
    size = (*source._size[:before], *linear._size, *after)
    _check_values(size, self, values)
    given = in_format(ops.expand.call(values, size, False))
    if not numel(linear._size) or not numel(after):
        return
    target = in_format(source)
    _make_sorted(ops.reshape.call(linear, (-1,)), numel(after))
    add_at(target._array, (*(slice(None),) * before, *places), given._array)
    if target is not source:
        ops.copy_.call(self, ops.permute.call(target, tuple(order.index(dim) for dim in range(len(order)))), False)
    elif kept is not self:
        ops.copy_.call(self, kept, False)


def _linear_index(source: Tensor, indices: Indices, unsafe: bool) -> tuple[Tensor, list[Any]]:
    """The linear indices of contiguous memory, and the indices in each dimension (``computeLinearIndex``)."""
    steps = contiguous_strides(source._size)
    named = [(index, dim) for dim, index in enumerate(indices) if index is not None]
    _check_indices([index for index, _ in named], tuple(source._size[dim] for _, dim in named))
    parts: list[Tensor] = []
    places = []
    for index, dim in named:
        parts.append(_to_device(ops.mul_Scalar.call(_wrapped(index, source._size[dim], unsafe), steps[dim]), source))
        places.append(parts[-1]._array // steps[dim])
        if len(parts) > 1:
            ops.add__Tensor.call(parts[0], parts[-1], 1)
    return parts[0], places


def _wrapped(index: Tensor, length: int, unsafe: bool) -> Tensor:
    """An index wrapped into [0, length), with assertions unless ``unsafe`` (``wrapIndexOnce``)."""
    if numel(index._size) and not unsafe:
        ops._assert_async.call(ops.lt_Scalar.call(ops.max.call(index), length))
        ops._assert_async.call(ops.ge_Scalar.call(ops.min.call(index), -length))
    return ops.remainder_Scalar.call(index, length)


def _make_sorted(linear: Tensor, slice_size: int) -> None:
    """Allocate the tensors of the sort.

    The linear indices are divided by the size of the slices that are added as a whole.
    """
    for _ in range(2):  # the sorted indices and their original positions
        ops.empty_like.call(linear, None, None, None, None, "contiguous_format")
    ops.divide__Scalar_mode.call(linear, slice_size, "trunc")
    ops.arange.call(linear._size[0], int64, "strided", linear._device, None)
