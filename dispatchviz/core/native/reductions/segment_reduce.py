"""``segment_reduce``: reductions of consecutive segments (``aten/src/ATen/native/SegmentReduce.cpp``).

``lengths`` are the lengths of the segments; ``offsets`` are the starts of the segments and the end of the last one.
Both have a row for each index of the dimensions before ``axis``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, pairwise
from typing import Any

from dispatchviz.core.call.structured import IMPROVABLE
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.indexing.gather_scatter import check_reduce
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, quiet
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.native.memory.copy_clone import as_contiguous
from dispatchviz.core.tensor.dtype import int32, int64
from dispatchviz.core.tensor.tensor import Tensor

Segment = tuple[int, int, slice]
"""The row of a segment, its number, and its slice of the data."""
Step = Callable[[Any, Any, Any], Any]
"""A function of the array library, the result so far, and the next row of numbers."""

_NEUTRAL = {
    "sum": 0.0,
    "mean": 0.0,
    "prod": 1.0,
    "max": -math.inf,
    "amax": -math.inf,
    "min": math.inf,
    "amin": math.inf,
}


def _maximum(xp: Any, total: Any, row: Any) -> Any:
    return xp.where(xp.isnan(row), row, xp.where(total < row, row, total))


def _minimum(xp: Any, total: Any, row: Any) -> Any:
    return xp.where(xp.isnan(row), row, xp.where(row < total, row, total))


_STEPS: dict[str, Step] = {
    "sum": lambda xp, total, row: total + row,
    "mean": lambda xp, total, row: total + row,
    "prod": lambda xp, total, row: total * row,
    "max": _maximum,
    "amax": _maximum,
    "min": _minimum,
    "amin": _minimum,
}


def segment_reduce_kernel(
    data: Tensor,
    reduce: str,
    lengths: Tensor | None,
    indices: Tensor | None,
    offsets: Tensor | None,
    axis: int,
    unsafe: bool,
    initial: Scalar | None,
) -> Tensor:
    """One row for each segment; for an empty one ``initial``, or the identity, or nan for a mean.

    Raise RuntimeError for an unknown reduction, for lengths that do not add up to the size of ``axis`` (unless
    ``unsafe``), for segments of negative length, and if ``axis`` is not the last dimension of the segments.
    """
    axis = wrap_dim(axis, len(data._size))
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    check_reduce(reduce)
    data = as_contiguous(data)
    name, segments = ("lengths", lengths) if offsets is None else ("offsets", offsets)
    assert segments is not None
    _check_segments(data, name, segments, axis)
    if name == "lengths" and not unsafe:
        _check_lengths(data, segments, axis)
    segments = as_contiguous(segments)
    out = _empty(data, segments._size[-1] - (name == "offsets"), axis)
    _check_dtypes(data, name, segments, f"_segment_reduce_{name}_cpu_kernel1")
    xp = array_module(data._device.type)
    quiet.run(_reduce, xp, _rows(data, axis), _rows(out, axis), _segments(name, segments), reduce, initial)
    return out


def _check_segments(data: Tensor, name: str, segments: Tensor, axis: int) -> None:
    if len(data._size) < len(segments._size):
        raise RuntimeError(f"Expected data.dim() >= {name}_value.dim() to be true, but got false.  {IMPROVABLE}")
    if axis != len(segments._size) - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}.")


def _check_lengths(data: Tensor, lengths: Tensor, axis: int) -> None:
    if ops.item.call(ops.min.call(lengths)) < 0:  # type: ignore[operator]
        raise RuntimeError("lengths contains negative value!")
    sums = ops.sum_dim_IntList.call(lengths, (-1,), False, None)
    if not ops.item.call(ops.all.call(ops.eq_Scalar.call(sums, data._size[axis]))):
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
            "!unsafe."
        )


def _empty(data: Tensor, count: int, axis: int) -> Tensor:
    size = (*data._size[:axis], count, *data._size[axis + 1 :])
    return ops.empty_memory_format.call(size, data._dtype, None, data._device, None, None)


def _check_dtypes(data: Tensor, name: str, segments: Tensor, kernel: str) -> None:
    if segments._dtype not in (int32, int64):
        raise not_implemented(kernel, segments._dtype)
    if not data._dtype.is_floating_point:
        raise not_implemented("_segment_reduce_cpu", data._dtype)


def _rows(tensor: Tensor, axis: int) -> Any:
    """The memory with one dimension before ``axis`` and one after it."""
    size = tensor._size
    return tensor._array.reshape(math.prod(size[:axis]), size[axis], math.prod(size[axis + 1 :]))


def _segments(name: str, segments: Tensor) -> Iterator[Segment]:
    width = segments._size[-1]
    for row, numbers in enumerate(segments._array.reshape(-1, width).tolist()):
        ends = numbers if name == "offsets" else accumulate(numbers, initial=0)
        for i, (start, end) in enumerate(pairwise(ends)):
            if end < start:
                raise RuntimeError(f"Expected segment_length >= 0 to be true, but got false.  {IMPROVABLE}")
            yield row, i, slice(start, end)


def _reduce(xp: Any, data: Any, out: Any, indices: Iterable[Segment], reduce: str, initial: Scalar | None) -> None:
    """Reduce each segment in the dtype of the data, one row after the other."""
    step = _STEPS[reduce]
    for row, i, index in indices:
        rows = data[row, index]
        total = xp.full_like(out[row, i], _NEUTRAL[reduce] if initial is None else initial)
        for each in rows:
            total = step(xp, total, each).astype(data.dtype)
        if reduce == "mean" and len(rows):
            total = (total / data.dtype.type(len(rows))).astype(data.dtype)
        elif reduce == "mean" and initial is None:
            total = xp.full_like(total, math.nan)
        out[row, i] = total


# -- backward ----------------------------------------------------------------------------------------------------------


def _segment_reduce_backward_kernel(
    grad: Tensor,
    output: Tensor,
    data: Tensor,
    reduce: str,
    lengths: Tensor | None,
    offsets: Tensor | None,
    axis: int,
    initial: Scalar | None,
) -> Tensor:
    """The gradient of the data. Raise RuntimeError without lengths and offsets, and for an unknown reduction."""
    axis = wrap_dim(axis, len(data._size))
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    grad, output, data = as_contiguous(grad), as_contiguous(output), as_contiguous(data)
    check_reduce(reduce)
    name, segments = ("lengths", lengths) if offsets is None else ("offsets", offsets)
    assert segments is not None
    segments = as_contiguous(segments)
    found = ops.zeros.call(data._size, grad._dtype, None, grad._device, None)
    _check_dtypes(data, name, segments, f"_segment_reduce_cpu_{name}_backward_kernel1")
    xp = array_module(data._device.type)
    arrays = [_rows(each, axis) for each in (grad, output, data, found)]
    for row, i, index in _segments(name, segments):
        grad_row, output_row, rows, into = arrays[0][row, i], arrays[1][row, i], arrays[2][row, index], arrays[3]
        if len(rows):
            into[row, index] = quiet.run(_gradient, xp, reduce, grad_row, output_row, rows, initial)
    return found


def _gradient(xp: Any, reduce: str, grad: Any, output: Any, rows: Any, initial: Scalar | None) -> Any:
    """The gradient of one segment.

    Ties share a positive gradient; as in PyTorch, each gets the whole of a negative one.
    """
    if reduce == "sum":
        return grad
    if reduce == "mean":
        return grad / rows.dtype.type(len(rows))
    if reduce == "prod":
        return _gradient_of_product(xp, grad, output, rows, 1.0 if initial is None else initial)
    selected = xp.isnan(rows) | (rows == output)
    gradient = xp.where(selected, grad, xp.zeros_like(rows))
    count = selected.sum(0).astype(rows.dtype)
    return xp.where((count >= 2) & (gradient > 0), (gradient / count).astype(rows.dtype), gradient)


def _gradient_of_product(xp: Any, grad: Any, output: Any, rows: Any, initial: Scalar) -> Any:
    """The gradient of a product. Where a number is zero or nan, the other factors are multiplied again."""
    found = (grad * output) / rows
    for j in range(len(rows)):
        others = xp.full_like(grad, initial)
        for k in range(len(rows)):
            others = others * rows[k] if k != j else others
        found[j] = xp.where(xp.isnan(rows[j]) | (rows[j] == 0), grad * others, found[j])
    return found
