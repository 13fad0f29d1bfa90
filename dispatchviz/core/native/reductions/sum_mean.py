"""``sum``, ``mean``, ``nansum``, ``nanmean``, ``count_nonzero`` (``aten/src/ATen/native/ReduceOps.cpp``).

A reduction writes into a view of its output in which the reduced dimensions have a stride of 0. The CPU sum first fills
that view with zeros, because it adds up in parts (``SumKernel.cpp``). The CUDA sum does not.
"""

from __future__ import annotations

import math

import numpy

from dispatchviz.core.call.structured import Structured, resize_output
from dispatchviz.core.call.unseen_calls import are_unseen
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, not_implemented, quiet, store
from dispatchviz.core.native.iterator.wrap_dim import reduced_mask, wrap_dim
from dispatchviz.core.native.reductions.reduction_strides import loops
from dispatchviz.core.tensor.dtype import REDUCED, Category, DType, can_cast, float32, int64
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, numel

Dims = Size | None

# -- sum ---------------------------------------------------------------------------------------------------------------


def sum(self: Tensor, dtype: DType | None) -> Tensor:
    """The sum over all dimensions; it calls the overload with dimensions."""
    return ops.sum_dim_IntList.call(self, (), False, dtype)


def sum_dim_IntList_meta(op: Structured, self: Tensor, dim: Dims, keepdim: bool, dtype: DType | None) -> None:
    """The shape without the reduced dimensions; integers and bool are summed as int64."""
    inferred = dtype or output_dtype(op)
    if inferred is None:
        inferred = int64 if self._dtype.category <= Category.INTEGRAL else self._dtype
    set_reduced(op, self, dim, keepdim, inferred)


def sum_out(self: Tensor, dim: Dims, keepdim: bool, dtype: DType | None, out: Tensor) -> None:
    """The sum over the dimensions."""
    mask = reduced_mask(dim, len(self._size))
    if _needs_no_calls(self, out):
        axes = tuple([i for i, reduced in enumerate(mask) if reduced])
        out._array[...] = quiet.run(numpy.add.reduce, self._array, axes, out._dtype.numpy, None, keepdim)
        return
    viewed = with_reduced_dims(out, self, mask, keepdim)
    source = _cast_input(self, out._dtype)
    if 0 in self._size:
        ops.zero_.call(out)
        return
    if _needs_wide_buffer(viewed, source):
        wide = ops.empty_memory_format.call(out._size, float32, None, out._device, None, None)
        ops.sum_IntList_out.call(ops.to_dtype.call(self, float32, False, False, None), dim, keepdim, None, wide)
        ops.copy_.call(out, wide, False)
        return
    if out._device.type == "cpu":
        ops.fill__Scalar.call(viewed, 0)
    axes = tuple(i for i, reduced in enumerate(mask) if reduced)
    xp = array_module(out._device.type)
    store(viewed, quiet.run(xp.sum, source._array, axes, accumulated(out._dtype).numpy, None, True))


def _needs_no_calls(self: Tensor, out: Tensor) -> bool:
    """Return whether the sum can be written at once: nothing could see the calls, and the zeros that PyTorch writes
    first do not overwrite the input.
    """
    return (
        self._dtype is out._dtype not in REDUCED
        and 0 not in self._size
        and self._storage is not out._storage
        and are_unseen(out)
    )


def _needs_wide_buffer(viewed: Tensor, source: Tensor) -> bool:
    """Return whether half or bfloat16 needs a wider buffer on the CPU (``should_use_acc_buffer``).

    This is so for two reduced dimensions that the loop cannot treat as one: it would round between them.
    """
    if viewed._dtype not in REDUCED or viewed._device.type != "cpu":
        return False
    steps = tuple(0 if a != b else step for a, b, step in zip(viewed._size, source._size, viewed._stride, strict=True))
    inner = loops(source._size, steps, source._stride)[:2]
    return len(inner) == 2 and not any(output for _, output, _ in inner)


# -- mean --------------------------------------------------------------------------------------------------------------


def mean(self: Tensor, dtype: DType | None) -> Tensor:
    """The mean over all dimensions; it calls the overload with dimensions."""
    return ops.mean_dim.call(self, (), False, dtype)


def mean_dtype_out(self: Tensor, dtype: DType | None, out: Tensor) -> Tensor:
    """Write the mean over all dimensions into ``out``."""
    if not can_cast(self._dtype, out._dtype):
        raise RuntimeError(
            f"mean.dtype_out(): input types can't be cast to the desired output type {out._dtype.legacy}"
        )
    return ops.mean_out.call(self, (), False, dtype, out)


def mean_dim_meta(op: Structured, self: Tensor, dim: Dims, keepdim: bool, dtype: DType | None) -> None:
    """The shape without the reduced dimensions. Raise RuntimeError unless the dtype is floating or complex."""
    computed = dtype or self._dtype
    if not computed.can_require_grad:
        raise RuntimeError(
            f"mean(): could not infer output dtype. {'Input' if dtype is None else 'Optional'} dtype must be either a "
            f"floating point or complex dtype. Got: {computed.legacy}"
        )
    set_reduced(op, self, dim, keepdim, dtype or output_dtype(op) or self._dtype)


def mean_out(self: Tensor, dim: Dims, keepdim: bool, dtype: DType | None, out: Tensor) -> None:
    """The mean: on the CPU the sum divided by the count, by other operators; on CUDA one loop."""
    if out._device.type == "cpu":
        _mean_by_sum(self, dim, keepdim, out)
    else:
        _mean_at_once(self, dim, keepdim, out)


def _mean_by_sum(self: Tensor, dim: Dims, keepdim: bool, out: Tensor) -> None:
    count = _reduced_count(self._size, dim)
    if out._dtype not in REDUCED:
        ops.div__Scalar.call(ops.sum_IntList_out.call(self, dim, keepdim, out._dtype, out), count)
        return
    wide = ops.to_dtype.call(out, float32, False, False, None)
    ops.div__Scalar.call(ops.sum_IntList_out.call(self, dim, keepdim, float32, wide), count)
    ops.copy_.call(out, wide, False)


def _mean_at_once(self: Tensor, dim: Dims, keepdim: bool, out: Tensor) -> None:
    mask = reduced_mask(dim, len(self._size))
    viewed = with_reduced_dims(out, self, mask, keepdim)
    source = _cast_input(self, out._dtype)
    if 0 in self._size:
        ops.fill__Scalar.call(out, math.nan)
        return
    axes = tuple(i for i, reduced in enumerate(mask) if reduced)
    xp = array_module(out._device.type)
    store(viewed, quiet.run(xp.mean, source._array, axes, accumulated(out._dtype).numpy, None, True))


# -- shared ------------------------------------------------------------------------------------------------------------


def output_dtype(op: Structured) -> DType | None:
    """The dtype of an ``out=`` tensor, which applies if none is given."""
    return op.output._dtype if op.variant == "out" else None


def set_reduced(op: Structured, self: Tensor, dim: Dims, keepdim: bool, dtype: DType) -> None:
    """Set the output of a reduction: contiguous, without the reduced dimensions."""
    size = reduced_size(self._size, reduced_mask(dim, len(self._size)), keepdim)
    op.set_output_raw_strided(size, contiguous_strides(size), dtype, self._device)


def reduced_size(size: Size, mask: list[bool], keepdim: bool) -> Size:
    """The shape without the dimensions of the mask, or with size 1 there."""
    if keepdim:
        return tuple(1 if reduced else length for length, reduced in zip(size, mask, strict=True))
    return tuple(length for length, reduced in zip(size, mask, strict=True) if not reduced)


def with_reduced_dims(out: Tensor, self: Tensor, mask: list[bool], keepdim: bool) -> Tensor:
    """The output with size 1 and stride 0 in each reduced dimension (``review_reduce_result``)."""
    if keepdim:
        return out
    kept = iter(zip(out._size, out._stride, strict=True))
    geometry = [(1, 0) if reduced else next(kept) for reduced in mask]
    return ops.as_strided.call(out, tuple(g[0] for g in geometry), tuple(g[1] for g in geometry), None)


def _cast_input(self: Tensor, dtype: DType) -> Tensor:
    """The input in the dtype of the output. On CUDA, half and bfloat16 are summed to float without a cast."""
    if self._dtype is dtype or (self._device.type == "cuda" and self._dtype in REDUCED and dtype is float32):
        return self
    return ops.to_dtype.call(self, dtype, False, False, None)


def _reduced_count(size: Size, dim: Dims) -> int:
    if not dim or not size:
        return numel(size)
    return math.prod(size[wrap_dim(d, len(size))] for d in dim)


# -- nansum ------------------------------------------------------------------------------------------------------------


def nansum(self: Tensor, dim: Dims, keepdim: bool, dtype: DType | None) -> Tensor:
    """The sum of the elements that are not nan."""
    inferred = dtype or (int64 if self._dtype.category <= Category.INTEGRAL else self._dtype)
    size = reduced_size(self._size, reduced_mask(dim, len(self._size)), keepdim)
    out = ops.empty_memory_format.call(size, inferred, "strided", self._device, None, None)
    return nansum_out(self, dim, keepdim, dtype, out)


def nansum_out(self: Tensor, dim: Dims, keepdim: bool, dtype: DType | None, out: Tensor) -> Tensor:
    """Write ``nansum`` into ``out``; it is ``sum`` for dtypes without nan."""
    if self._dtype.is_complex:
        raise RuntimeError(f"nansum on {self._device.type.upper()} does not support complex inputs")
    if self._dtype.category <= Category.INTEGRAL:
        return ops.sum_IntList_out.call(self, dim, keepdim, dtype, out)
    mask = reduced_mask(dim, len(self._size))
    size = reduced_size(self._size, mask, keepdim)
    if out._size != size:
        resize_output(out, size, contiguous_strides(size))
    viewed = with_reduced_dims(out, self, mask, keepdim)
    source = _cast_input(self, dtype or out._dtype)
    if not numel(self._size):
        return ops.zero_.call(out)
    if not (dtype or out._dtype).is_floating_point:
        raise not_implemented("nansum_cpu", dtype or out._dtype)
    if out._device.type == "cpu":
        ops.fill__Scalar.call(viewed, 0)
    axes = tuple(i for i, reduced in enumerate(mask) if reduced)
    xp = array_module(out._device.type)
    values = xp.where(source._array != source._array, source._dtype.numpy.type(0), source._array)
    store(viewed, quiet.run(xp.sum, values, axes, accumulated(out._dtype).numpy, None, True))
    return out


# -- nanmean -----------------------------------------------------------------------------------------------------------


def nanmean(self: Tensor, dim: Dims, keepdim: bool, dtype: DType | None) -> Tensor:
    """The mean of the elements that are not nan. Raise RuntimeError for integers."""
    _check_nanmean(self)
    count = _numbers(ops.detach.call(self), dim, keepdim)
    return ops.div_Tensor.call(ops.nansum.call(self, dim, keepdim, dtype), count)


def nanmean_out(self: Tensor, dim: Dims, keepdim: bool, dtype: DType | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``nanmean``."""
    _check_nanmean(self)
    count = _numbers(self, dim, keepdim)
    return ops.div__Tensor.call(ops.nansum_out.call(self, dim, keepdim, dtype, out), count)


def _numbers(self: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """The number of elements that are not nan."""
    missing = ops.ne_Tensor.call(self, self)
    return ops.sum_dim_IntList.call(ops.logical_not_.call(missing), dim, keepdim, None)


def _check_nanmean(self: Tensor) -> None:
    if not self._dtype.can_require_grad:
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got " + self._dtype.legacy
        )


# -- count_nonzero -----------------------------------------------------------------------------------------------------


def count_nonzero_dim_IntList(self: Tensor, dim: Size) -> Tensor:
    """The number of nonzero elements along dimensions, or of all elements."""
    if dim:
        return ops.sum_dim_IntList.call(ops.ne_Scalar.call(self, 0), dim, False, None)
    out = ops.empty_memory_format.call((), int64, "strided", self._device, None, None)
    if out._array is not None:
        out._array[...] = array_module(self._device.type).count_nonzero(self._array)
    return out


def count_nonzero(self: Tensor, dim: int | None) -> Tensor:
    """The number of nonzero elements along one dimension, or of all elements."""
    return ops.count_nonzero_dim_IntList.call(self, () if dim is None else (dim,))
