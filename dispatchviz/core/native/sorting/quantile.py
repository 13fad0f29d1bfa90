"""``quantile``, ``nanquantile`` (``aten/src/ATen/native/Sorting.cpp``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.structured import resize_output
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import bool_, float32, float64, int64
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, numel

# -- overloads ---------------------------------------------------------------------------------------------------------


def quantile(self: Tensor, q: Tensor, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
    """The q-th quantiles, where q are probabilities; nan if an element is nan."""
    _check(self, q)
    return _computed(self, q, dim, keepdim, interpolation, ignore_nan=False)


def quantile_scalar(self: Tensor, q: float, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
    """The quantile of one probability."""
    return quantile(self, _scalar_q(self, q), dim, keepdim, interpolation)


def quantile_out(self: Tensor, q: Tensor, dim: int | None, keepdim: bool, interpolation: str, out: Tensor) -> Tensor:
    """The ``out=`` version of ``quantile``."""
    return _into(out, self, q, dim, keepdim, interpolation, ignore_nan=False)


def quantile_scalar_out(
    self: Tensor, q: float, dim: int | None, keepdim: bool, interpolation: str, out: Tensor
) -> Tensor:
    """Write the quantile of one probability into ``out``."""
    return quantile_out(self, _scalar_q(self, q), dim, keepdim, interpolation, out)


def nanquantile(self: Tensor, q: Tensor, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
    """The q-th quantiles of the elements that are not nan."""
    _check(self, q)
    return _computed(self, q, dim, keepdim, interpolation, ignore_nan=True)


def nanquantile_scalar(self: Tensor, q: float, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
    """The quantile of one probability, ignoring nan."""
    return nanquantile(self, _scalar_q(self, q), dim, keepdim, interpolation)


def nanquantile_out(self: Tensor, q: Tensor, dim: int | None, keepdim: bool, interpolation: str, out: Tensor) -> Tensor:
    """The ``out=`` version of ``nanquantile``."""
    return _into(out, self, q, dim, keepdim, interpolation, ignore_nan=True)


def nanquantile_scalar_out(
    self: Tensor, q: float, dim: int | None, keepdim: bool, interpolation: str, out: Tensor
) -> Tensor:
    """Write the quantile of one probability, ignoring nan, into ``out``."""
    return nanquantile_out(self, _scalar_q(self, q), dim, keepdim, interpolation, out)


def _scalar_q(self: Tensor, q: float) -> Tensor:
    if not 0 <= q <= 1:
        raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
    return ops.scalar_tensor.call(q, self._dtype, "strided", self._device, None)


def _into(
    out: Tensor, self: Tensor, q: Tensor, dim: int | None, keepdim: bool, interpolation: str, *, ignore_nan: bool
) -> Tensor:
    _check(self, q)
    if out._dtype is not self._dtype:
        raise RuntimeError("quantile() out tensor must be same dtype as the input tensor")
    if out._device != self._device:
        raise RuntimeError("quantile() out tensor must be on the same device as the input tensor")
    size = _result_size(self, q, dim, keepdim)
    if out._size != size:
        resize_output(out, size, contiguous_strides(size))
    return ops.copy_.call(out, _computed(self, q, dim, keepdim, interpolation, ignore_nan=ignore_nan), False)


def _check(self: Tensor, q: Tensor) -> None:
    """Raise RuntimeError for arguments that do not fit (``quantile_checks``)."""
    if not numel(self._size):
        raise RuntimeError("quantile() input tensor must be non-empty")
    if len(q._size) > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if self._dtype not in (float32, float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if self._dtype is not q._dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if self._device != q._device:
        raise RuntimeError("quantile() q tensor must be on the same device as the input tensor")


def _result_size(self: Tensor, q: Tensor, dim: int | None, keepdim: bool) -> Size:
    """The size of the result, with a leading dimension if q has one."""
    if dim is None or not self._size:
        if dim is not None:
            wrap_dim(dim, 0)
        kept: Size = (1,) * len(self._size) if keepdim else ()
    else:
        dim = wrap_dim(dim, len(self._size))
        kept = tuple(1 if at == dim else n for at, n in enumerate(self._size) if keepdim or at != dim)
    return (numel(q._size), *kept) if q._size else kept


# -- the computation ---------------------------------------------------------------------------------------------------

MODES = ("linear", "lower", "higher", "midpoint", "nearest")
"""The interpolation modes between two elements."""
_ROUNDED: dict[str, Any] = {"lower": ops.floor_, "higher": ops.ceil_, "nearest": ops.round_}


def _computed(
    self: Tensor, q: Tensor, dim: int | None, keepdim: bool, interpolation: str, *, ignore_nan: bool
) -> Tensor:
    """The sorted elements at fractional ranks (``quantile_compute``)."""
    if interpolation not in MODES:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )
    size = _result_size(self, q, dim, keepdim)
    _check_q(q)
    ordered = _ordered(self, dim)
    lengths = size[1:] if q._size else size
    ordered = ops.view.call(ordered, (*lengths, ordered._size[-1]))
    if ordered._size[-1] > 2**24:
        raise RuntimeError("quantile() input tensor is too large")
    ranks = (_ranks_of_numbers if ignore_nan else _ranks)(ordered, q)
    if interpolation in _ROUNDED:
        _ROUNDED[interpolation].call(ranks)
    found = _values_at(ordered, ranks, interpolation)
    if not q._size:
        return ops.squeeze__dim.call(found, -1)
    return ops.squeeze__dim.call(ops.transpose_.call(ops.unsqueeze_.call(found, 0), 0, -1), -1)


def _check_q(q: Tensor) -> None:
    if q._device.type == "cpu":
        not_less = ops.ge_Scalar.call(q, 0)
        inside = ops.all.call(ops.logical_and_.call(not_less, ops.le_Scalar.call(q, 1)))
        if not is_scalar_tensor_true(inside):
            raise RuntimeError("quantile() q values must be in the range [0, 1]")


def is_scalar_tensor_true(tensor: Tensor) -> bool:
    """Return whether a 0-dim bool tensor is true, computed by ``equal``."""
    return ops.equal.call(tensor, ops.new_ones.call(tensor, (), bool_, "strided", tensor._device, None))


def _ordered(self: Tensor, dim: int | None) -> Tensor:
    """The tensor sorted along the reduced dimension, which becomes the last one."""
    if dim is None:
        self = ops.flatten_using_ints.call(self, 0, -1)
    elif wrap_dim(dim, len(self._size)) != len(self._size) - 1:
        self = ops.transpose_int.call(ops.unsqueeze.call(self, -1), wrap_dim(dim, len(self._size)), -1)
    return ops.sort.call(self, -1, False)[0]


def _ranks(ordered: Tensor, q: Tensor) -> Tensor:
    """The ranks of the quantiles; the last one if there is a nan, which is sorted last."""
    last = ordered._size[-1] - 1
    scaled = ops.mul_Scalar.call(q, last)
    missing = ops.any_dim.call(ops.isnan.call(ordered), -1, True)
    ranks, missing = ops.broadcast_tensors.call([scaled, missing])
    return ops.masked_fill_Scalar.call(ranks, missing, last)


def _ranks_of_numbers(ordered: Tensor, q: Tensor) -> Tensor:
    """The ranks of the quantiles among the elements that are not nan; the first one if there are none."""
    count = ops.sum_dim_IntList.call(ops.logical_not_.call(ops.isnan.call(ordered)), (-1,), True, None)
    ranks = ops.mul_Tensor.call(q, ops.sub_Scalar.call(count, 1, 1))
    return ops.masked_fill__Scalar.call(ranks, ops.lt_Scalar.call(ranks, 0), 0)


def _values_at(ordered: Tensor, ranks: Tensor, interpolation: str) -> Tensor:
    """The elements at the ranks, interpolated between two of them if a rank is fractional."""
    below = _as_indices(ranks)
    found = ops.gather.call(ordered, -1, below, False)
    if interpolation not in ("linear", "midpoint"):
        return found
    if interpolation == "midpoint":
        weights = ops.full_like.call(ranks, 0.5, None, None, None, None, None)
    else:
        weights = ops.sub_Tensor.call(ranks, below, 1)
    above = ops.gather.call(ordered, -1, _as_indices(ops.ceil_.call(ranks)), False)
    return ops.lerp__Tensor.call(found, above, weights)


def _as_indices(ranks: Tensor) -> Tensor:
    """The ranks as int64 indices (``toType(kLong)``)."""
    return ops.to_dtype_layout.call(ranks, int64, "strided", ranks._device, None, False, False, None)
