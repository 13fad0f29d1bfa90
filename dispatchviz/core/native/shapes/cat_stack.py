"""``cat``, ``stack`` (``aten/src/ATen/native/TensorShape.cpp``)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, islice

from dispatchviz.core.call.structured import Structured, resize_output
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.argument_checks import check_same_device
from dispatchviz.core.native.iterator.infer_size import compute_stride
from dispatchviz.core.native.iterator.memory_formats import CONTIGUOUS, is_in_format, strides_in, suggested
from dispatchviz.core.native.iterator.memory_overlap import check_no_overlap
from dispatchviz.core.native.iterator.tensor_iterator import converted, result_type
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import can_cast
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, numel
from dispatchviz.core.thread.context import GRAIN_SIZE, context

# -- cat ---------------------------------------------------------------------------------------------------------------


def cat_meta(op: Structured, tensors: Sequence[Tensor], dim: int) -> None:
    """The size of the result and the promoted dtype.

    Sizes must be equal except in ``dim``; tensors of size [0] are skipped.
    """
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for position, tensor in enumerate(tensors):
        if not tensor._size:
            raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    parts = [tensor for tensor in tensors if not _is_skipped(tensor)]
    first = parts[0] if parts else tensors[0]
    dim = wrap_dim(dim, len(first._size))
    for position, tensor in enumerate(tensors):
        if not _is_skipped(tensor):
            _check_joinable(first._size, tensor._size, dim, position)
    check_same_device(*tensors)
    size = list(first._size)
    size[dim] = sum(tensor._size[dim] for tensor in parts)
    dtype = result_type(*tensors)
    if op.variant == "out" and not can_cast(dtype, op.output._dtype):
        raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {op.output._dtype.legacy}")
    dtype = op.output._dtype if op.variant == "out" else dtype
    shape = tuple(size)
    op.set_output_raw_strided(shape, strides_in(_common_format(tensors), shape), dtype, first._device)
    if op.variant == "out" and parts:
        check_no_overlap(op.output, tuple(tensors))


def _common_format(tensors: Sequence[Tensor]) -> str:
    """The memory format that all tensors suggest, else the contiguous one (``cat_compute_output_memory_format``)."""
    formats = {suggested(tensor) for tensor in tensors}
    return formats.pop() if len(formats) == 1 else CONTIGUOUS


def _is_skipped(tensor: Tensor) -> bool:
    return tensor._size == (0,)


def _check_joinable(first: Size, size: Size, dim: int, position: int) -> None:
    if len(first) != len(size):
        raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(size)}")
    for other, (expected, found) in enumerate(zip(first, size, strict=True)):
        if other != dim and expected != found:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected size {expected} but got size {found} "
                f"for tensor number {position} in the list."
            )


def cat_out(tensors: Sequence[Tensor], dim: int, out: Tensor) -> None:
    """The tensors concatenated along ``dim``."""
    if 0 in out._size:
        return
    dim = wrap_dim(dim, len(out._size))
    parts = [tensor for tensor in tensors if not _is_skipped(tensor)]
    ends = list(accumulate(part._size[dim] for part in parts))
    cuts = zip((0, *ends[:-1]), parts, strict=True)
    if out._device.type == "cpu":
        for start, part in islice(cuts, _narrowed(tensors, parts, dim, out)):
            into = ops.narrow.call(out, dim, start, part._size[dim])
            if part._dtype is not out._dtype:  # the iterator's common dtype is that of its only input
                cast = ops.empty_like.call(into, part._dtype, None, part._device, None, "contiguous_format")
                cast._array[...] = part._array
                ops.copy_.call(into, cast, False)
    for end, part in zip(ends, parts, strict=True):
        index = (*[slice(None)] * dim, slice(end - part._size[dim], end))
        out._array[index] = converted(part._array, out._dtype)


def _narrowed(tensors: Sequence[Tensor], parts: list[Tensor], dim: int, out: Tensor) -> int:
    """The number of slices of the result that the CPU kernel creates before it writes: none if one single-threaded loop
    copies everything.
    """
    first = parts[0]
    same_dtype = all(tensor._dtype is out._dtype for tensor in tensors)
    memory_format = _common_format(tensors)
    contiguous = len(parts) == len(tensors) and all(is_in_format(tensor, memory_format) for tensor in (*parts, out))
    serial = numel(out._size) < GRAIN_SIZE or context.num_threads == 1
    in_order = dim == 0 and memory_format == CONTIGUOUS
    if serial and same_dtype and contiguous and (in_order or out._dtype.is_floating_point):
        return 0
    same_geometry = all((part._size, part._stride) == (first._size, first._stride) for part in parts)
    return 1 if same_dtype and same_geometry and is_in_format(out, memory_format) else len(parts)


# -- stack -------------------------------------------------------------------------------------------------------------


def stack(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """The tensors stacked along a new dimension.

    Unless it is the last one, it is split off the concatenated dimension by a view.
    """
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    size = tensors[0]._size
    dim = wrap_dim(dim, len(size) + 1)
    _check_stackable(tensors)
    if dim < len(size):
        return ops.view.call(ops.cat.call(list(tensors), dim), (*size[:dim], len(tensors), *size[dim:]))
    return ops.cat.call([ops.unsqueeze.call(tensor, dim) for tensor in tensors], dim)


def stack_meta(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """The geometry of the stacked tensors."""
    return stack(tensors, dim)


def stack_out(tensors: Sequence[Tensor], dim: int, out: Tensor) -> Tensor:
    """Stack into ``out``; if its strides allow, the tensors are concatenated in a view of it."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    size = tensors[0]._size
    dim = wrap_dim(dim, len(size) + 1)
    _check_stackable(tensors)
    if dim < len(size):
        wanted = (*size[:dim], len(tensors), *size[dim:])
        if out._size != wanted:
            resize_output(out, wanted, contiguous_strides(wanted))
        joined = (*size[:dim], len(tensors) * size[dim], *size[dim + 1 :])
        if compute_stride(out._size, out._stride, joined) is not None:
            ops.cat_out.call(list(tensors), dim, ops.view.call(out, joined))
            return out
    return ops.cat_out.call([ops.unsqueeze.call(tensor, dim) for tensor in tensors], dim, out)


def _check_stackable(tensors: Sequence[Tensor]) -> None:
    first = tensors[0]._size
    for position, tensor in enumerate(tensors):
        if tensor._size != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(tensor._size)} at entry {position}"
            )
