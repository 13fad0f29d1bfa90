"""``infer_size``, ``computeStride``, ``inferExpandGeometry``: shapes and strides of views (``InferSize.h``,
``TensorUtils.cpp``, ``ExpandUtils.cpp`` in ``aten/src/ATen``)."""

from __future__ import annotations

from functools import lru_cache

from dispatchviz.core.native.iterator.strides import Geometry
from dispatchviz.core.tensor.tensor import Size


def infer_size(shape: Size, count: int) -> Size:
    """The shape with -1 replaced by the missing size.

    Raise RuntimeError if the shape does not hold ``count`` elements.
    """
    unknown = None
    known = 1
    for i, length in enumerate(shape):
        if length == -1:
            if unknown is not None:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        elif length < 0:
            raise RuntimeError(f"invalid shape dimension {length} at index {i} of shape {list(shape)}")
        else:
            known *= length
    if unknown is None:
        if known != count:
            raise _wrong_size(shape, count)
        return shape
    if known == 0 and count == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    if known == 0 or count % known:
        raise _wrong_size(shape, count)
    return (*shape[:unknown], count // known, *shape[unknown + 1 :])


def _wrong_size(shape: Size, count: int) -> RuntimeError:
    return RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")


@lru_cache(maxsize=4096)
def compute_stride(size: Size, stride: Size, shape: Size) -> Size | None:
    """The strides that view the same elements in the same order as ``shape``, or None if there are none.

    The old dimensions are grouped into contiguous runs. The new dimensions must divide each run exactly.
    """
    if not size:
        return (1,) * len(shape)
    if 0 in size:
        return stride if size == shape else _strides_of_empty(shape)
    result = [0] * len(shape)
    new = len(shape) - 1
    for count, step in _contiguous_runs(size, stride):
        filled = 1
        while new >= 0 and (filled < count or shape[new] == 1):
            result[new] = filled * step
            filled *= shape[new]
            new -= 1
        if filled != count:
            return None
    return tuple(result) if new < 0 else None


def _contiguous_runs(size: Size, stride: Size) -> list[tuple[int, int]]:
    """The number of elements and the innermost stride of each run of dimensions without gaps in memory, the last run
    first.
    """
    runs = []
    count, step = 1, stride[-1]
    for dim in reversed(range(len(size))):
        count *= size[dim]
        if dim == 0 or (size[dim - 1] != 1 and stride[dim - 1] != count * step):
            runs.append((count, step))
            count, step = 1, stride[dim - 1]
    return runs


def _strides_of_empty(shape: Size) -> Size:
    strides = [1] * len(shape)
    for dim in reversed(range(len(shape) - 1)):
        strides[dim] = strides[dim + 1] * max(shape[dim + 1], 1)
    return tuple(strides)


def expanded_geometry(size: Size, stride: Size, target: Size) -> Geometry:
    """The geometry of an expanded view. Raise RuntimeError if a size is neither 1 nor the target's."""
    if not size:
        return target, (0,) * len(target)
    lead = len(target) - len(size)
    sizes, strides = list(target), [0] * len(target)
    for dim in reversed(range(len(target))):
        own = size[dim - lead] if dim >= lead else 1
        # a new dimension has the stride that it would have in a contiguous tensor
        step = (
            stride[dim - lead] if dim >= lead else (sizes[dim + 1] * strides[dim + 1] if dim + 1 < len(target) else 1)
        )
        if target[dim] == -1:
            if dim < lead:
                raise RuntimeError(
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {dim}"
                )
            sizes[dim] = own
        elif own != target[dim]:
            if own != 1:
                raise RuntimeError(
                    f"The expanded size of the tensor ({target[dim]}) must match the existing size ({own}) at "
                    f"non-singleton dimension {dim}.  Target sizes: {list(target)}.  Tensor sizes: {list(size)}"
                )
            step = 0
        strides[dim] = step
    return tuple(sizes), tuple(strides)
