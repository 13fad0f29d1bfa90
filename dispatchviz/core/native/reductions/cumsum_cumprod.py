"""``prod``, ``cumsum``, ``cumprod``, ``logsumexp``, ``norm``, ``linalg_vector_norm``
(``aten/src/ATen/native/ReduceOps.cpp``, ``LinearAlgebra.cpp``). Sums and means are in ``sum_mean.py``, variances in
``variance.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, cast, not_implemented, quiet, store
from dispatchviz.core.native.iterator.wrap_dim import reduced_mask, wrap_dim
from dispatchviz.core.native.reductions.sum_mean import Dims, output_dtype, set_reduced, with_reduced_dims
from dispatchviz.core.tensor.dtype import REDUCED, Category, DType, bool_, default_dtype, int64, promote_types
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, numel

# -- prod --------------------------------------------------------------------------------------------------------------


def prod(self: Tensor, dtype: DType | None) -> Tensor:
    """The product of all elements."""
    out = ops.empty_memory_format.call((), dtype or _summed(self._dtype), "strided", self._device, None, None)
    _product(self, None, False, out)
    return out


def _summed(dtype: DType) -> DType:
    return int64 if dtype.category <= Category.INTEGRAL else dtype


def prod_dim_int_meta(op: Structured, self: Tensor, dim: int, keepdim: bool, dtype: DType | None) -> None:
    """The shape without the reduced dimension; integers and bool become int64."""
    set_reduced(op, self, (dim,), keepdim, dtype or output_dtype(op) or _summed(self._dtype))


def prod_out(self: Tensor, dim: int, keepdim: bool, dtype: DType | None, out: Tensor) -> None:
    """The product along a dimension"""
    _product(self, (dim,), keepdim, out)


def _product(self: Tensor, dim: Dims, keepdim: bool, out: Tensor) -> None:
    mask = reduced_mask(dim, len(self._size))
    viewed = with_reduced_dims(out, self, mask, keepdim)
    if self._dtype is not out._dtype:
        self = ops.to_dtype.call(self, out._dtype, False, False, None)
    if out._device.type == "cpu":
        ops.fill__Scalar.call(viewed if numel(self._size) else out, 1)
    if out._array is not None:
        axes = tuple(i for i, reduced in enumerate(mask) if reduced)
        if out._dtype in REDUCED and out._device.type == "cpu":
            return store(viewed, quiet.run(_rounded_product, self, axes).reshape(viewed._size))
        kind = accumulated(out._dtype).numpy
        store(viewed, quiet.run(array_module(out._device.type).prod, self._array, axes, kind, None, True))
    return None


_BLOCK = 64
"""The number of elements in four vectors of 16."""


def _rounded_product(self: Tensor, axes: tuple[int, ...]) -> Any:
    """The product of half or bfloat16, rounded after each step (``vectorized_inner_reduction``).

    Contiguous elements are multiplied in blocks of four vectors, the rest one by one.
    """
    rank = len(self._size)
    count = math.prod(self._size[axis] for axis in axes)
    reduced_last = numpy.moveaxis(self._array, axes, tuple(range(rank - len(axes), rank)))
    rows = reduced_last.reshape(math.prod(reduced_last.shape[: rank - len(axes)]), count)
    total = numpy.ones(len(rows), rows.dtype)
    is_inner = len(rows) > 0 and reduced_last[(0,) * (rank - len(axes))].flags.c_contiguous
    blocks = count // _BLOCK if is_inner else 0
    if blocks:
        a, b, c, d = numpy.moveaxis(_chain(rows[:, : blocks * _BLOCK].reshape(len(rows), blocks, 4, 16), 1), 1, 0)
        total = total * _chain((a * b) * (c * d), 1)
    for column in range(blocks * _BLOCK, count):
        total = total * rows[:, column]
    return total


def _chain(numbers: Any, axis: int) -> Any:
    first, *others = numpy.moveaxis(numbers, axis, 0)
    for other in others:
        first = first * other
    return first


# -- cumulative sums and products --------------------------------------------------------------------------------------


def cumsum_meta(op: Structured, self: Tensor, dim: int, dtype: DType | None) -> None:
    """The shape of self; integers and bool become int64."""
    _cumulative_meta(op, self, dim, dtype)


def cumprod_meta(op: Structured, self: Tensor, dim: int, dtype: DType | None) -> None:
    """The shape of self; integers and bool become int64."""
    _cumulative_meta(op, self, dim, dtype)


def _cumulative_meta(op: Structured, self: Tensor, dim: int, dtype: DType | None) -> None:
    wrap_dim(dim, len(self._size))
    given = None if op.variant == "functional" else op.output._dtype
    made = dtype or given or _summed(self._dtype)
    op.set_output_raw_strided(self._size, contiguous_strides(self._size), made, self._device)


def cumsum_out(self: Tensor, dim: int, dtype: DType | None, out: Tensor) -> None:
    """The cumulative sum"""
    _cumulative("cumsum", self, dim, out)


def cumprod_out(self: Tensor, dim: int, dtype: DType | None, out: Tensor) -> None:
    """The cumulative product"""
    _cumulative("cumprod", self, dim, out)


def _cumulative(function: str, self: Tensor, dim: int, out: Tensor) -> None:
    if not self._size:
        ops.fill__Tensor.call(out, self)
    elif not numel(self._size):
        ops.zero_.call(out)
    elif out._dtype is bool_:
        raise not_implemented(f"{function}_out_cpu", out._dtype)
    else:
        source = ops.to_dtype.call(self, out._dtype, False, False, None)
        axis, kind = wrap_dim(dim, len(self._size)), accumulated(out._dtype).numpy
        store(out, quiet.run(getattr(array_module(out._device.type), function), source._array, axis, kind))


# -- logsumexp ---------------------------------------------------------------------------------------------------------


def logsumexp(self: Tensor, dim: Size, keepdim: bool) -> Tensor:
    """log(sum(exp(self)))"""
    dtype = self._dtype if self._dtype.can_require_grad else default_dtype()
    out = ops.empty_memory_format.call((0,), dtype, "strided", self._device, None, None)
    return ops.logsumexp_out.call(self, dim, keepdim, out)


def logsumexp_out(self: Tensor, dim: Size, keepdim: bool, out: Tensor) -> Tensor:
    """Write ``logsumexp`` into ``out``. The maximum is subtracted first to avoid overflow."""
    if not out._dtype.can_require_grad:
        raise RuntimeError(f"logsumexp(): Expected floating point type for result tensor, but got: {out._dtype.legacy}")
    if not self._dtype.can_require_grad:
        self = ops.to_dtype.call(self, default_dtype(), False, False, None)
    if not numel(self._size):
        ops.sum_IntList_out.call(ops.exp.call(self), dim, keepdim, None, out)
        return ops.log_.call(out)
    maxes = ops.amax.call(ops.real.call(self), dim, True)
    squeezed = maxes if keepdim else ops.squeeze_dims.call(maxes, dim)
    ops.masked_fill__Scalar.call(squeezed, ops.eq_Scalar.call(ops.abs.call(squeezed), math.inf), 0)
    ops.sum_IntList_out.call(ops.exp_.call(ops.sub_Tensor.call(self, maxes, 1)), dim, keepdim, None, out)
    return ops.add__Tensor.call(ops.log_.call(out), squeezed, 1)


# -- norm --------------------------------------------------------------------------------------------------------------


def linalg_vector_norm_meta(
    op: Structured, self: Tensor, ord: Scalar, dim: Dims, keepdim: bool, dtype: DType | None
) -> None:
    """The shape without the reduced dimensions."""
    if not self._dtype.can_require_grad:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {self._dtype.legacy}"
        )
    _check_has_norm(self, ord, tuple(dim or ()))
    _check_norm_dtype(self._dtype, dtype)
    set_reduced(op, self, dim, keepdim, (dtype or self._dtype).to_real())


def _check_has_norm(self: Tensor, ord: Scalar, dims: Size) -> None:
    """Raise RuntimeError for an infinity norm or a negative norm of no elements."""
    order = float(ord)  # type: ignore[arg-type]
    if numel(self._size) or not (order < 0 or order == math.inf):
        return
    name = f"linalg.vector_norm cannot compute the {order:g} norm on"
    if not dims:
        raise RuntimeError(f"{name} an empty tensor because the operation does not have an identity")
    for dim in dims:
        if not self._size[dim]:
            raise RuntimeError(
                f"{name} the dimension {dim}because this dimension is empty and the operation does not have an identity"
            )


def _check_norm_dtype(own: DType, dtype: DType | None) -> None:
    """Raise RuntimeError for a narrower dtype, and for a real dtype with complex numbers or the reverse."""
    if dtype is None:
        return
    name = "linalg.vector_norm: "
    if not dtype.can_require_grad:
        raise RuntimeError(f"{name}dtype should be floating point or complex, but got {dtype.legacy}")
    if own.is_complex is not dtype.is_complex:
        kind = "complex" if own.is_complex else "real"
        raise RuntimeError(f"{name}dtype should be {kind} for {kind} inputs, but got {dtype.legacy}")
    if promote_types(own, dtype) is not dtype:
        raise RuntimeError(
            f"{name}the dtype of the input ({own.legacy}) should be convertible without narrowing to the specified "
            f"dtype ({dtype.legacy})"
        )


def linalg_vector_norm_out(
    self: Tensor, ord: Scalar, dim: Dims, keepdim: bool, dtype: DType | None, out: Tensor
) -> None:
    """(sum of abs(self) ** ord) ** (1 / ord)

    The norm of single elements is their absolute value, or, for ord 0, whether they are not 0.
    """
    mask = reduced_mask(dim, len(self._size))
    if all(length == 1 for length, reduced in zip(self._size, mask, strict=True) if reduced) and (
        self._size or not dim
    ):
        return _norm_of_single_elements(self, ord, mask, keepdim, dtype, out)
    power = float(ord)  # type: ignore[arg-type]
    self = _own_sizes(self, power, dtype)
    viewed = with_reduced_dims(out, self, mask, keepdim)
    if not numel(self._size):
        ops.fill__Scalar.call(viewed, math.inf if power < 0 else 0)
        return None
    xp: Any = array_module(out._device.type)
    axes = tuple(i for i, reduced in enumerate(mask) if reduced)
    sizes = _sizes(xp, self, out)

    def norm() -> Any:
        if math.isinf(power):
            return (xp.max if power > 0 else xp.min)(sizes, axes, keepdims=True)
        if power == 0:
            return xp.sum(sizes != 0, axes, keepdims=True)
        if power == 2:
            return xp.sqrt(xp.sum(sizes * sizes, axes, keepdims=True))
        return xp.sum(sizes**power, axes, keepdims=True) ** (1 / power)

    store(viewed, quiet.run(norm))
    return None


def _own_sizes(self: Tensor, power: float, dtype: DType | None) -> Tensor:
    """The absolute values of complex numbers for an infinity norm on the CPU, because the gradient compares with
    them.
    """
    if not (self._dtype.is_complex and math.isinf(power) and self._device.type == "cpu"):
        return self
    return ops.abs.call(self if dtype is None else ops.to_dtype.call(self, dtype, False, False, None))


def _sizes(xp: Any, self: Tensor, out: Tensor) -> Any:
    """The array of the absolute values."""
    dtype = out._dtype.to_complex() if self._dtype.is_complex else out._dtype
    values = cast(self, dtype) if self._dtype is not dtype and out._device.type == "cpu" else self._array
    return xp.abs(values.astype(accumulated(dtype).numpy))


def _norm_of_single_elements(
    self: Tensor, ord: Scalar, mask: Sequence[bool], keepdim: bool, dtype: DType | None, out: Tensor
) -> None:
    if dtype is not None and dtype is not self._dtype:
        self = ops.to_dtype.call(self, dtype, False, False, None)
    if not keepdim:
        self = ops.squeeze_dims.call(self, tuple(index for index, reduced in enumerate(mask) if reduced))
    if float(ord) == 0:  # type: ignore[arg-type]
        ops.ne_Scalar_out.call(self, 0, out)
    else:
        ops.abs_out.call(self, out)


def norm_ScalarOpt_dim_meta(op: Structured, self: Tensor, p: Scalar | None, dim: Size, keepdim: bool) -> None:
    """The shape without the reduced dimensions."""
    if not self._dtype.can_require_grad:
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {self._dtype.legacy} instead."
        )
    set_reduced(op, self, dim, keepdim, self._dtype.to_real() if op.variant == "functional" else op.output._dtype)


def norm_out(self: Tensor, p: Scalar | None, dim: Size, keepdim: bool, out: Tensor) -> None:
    """``linalg_vector_norm`` of the given order, by default 2."""
    ops.linalg_vector_norm_out.call(self, 2.0 if p is None else p, dim, keepdim, None, out)


def norm_Scalar(self: Tensor, p: Scalar) -> Tensor:
    """The norm over all dimensions."""
    return ops.norm_ScalarOpt_dim.call(self, p, (), False)
