"""``quantile``, ``nanquantile`` (``aten/src/ATen/native/Sorting.cpp``)."""

from __future__ import annotations

from typing import Any

import numpy

from dispatchviz.core.call.structured import resize_output
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.native.sorting.std_sort import standard_nth_element
from dispatchviz.core.tensor.dtype import DType, bool_, float32, float64, int64
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, numel
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like

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
    """The elements at fractional ranks (``quantile_compute``)."""
    if interpolation not in MODES:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )
    size = _result_size(self, q, dim, keepdim)
    _check_q(q)
    rows = _rows(self, dim)
    lengths = size[1:] if q._size else size
    rows = ops.reshape.call(rows, (*lengths, rows._size[-1]))
    if rows._size[-1] > 2**24:
        raise RuntimeError("quantile() input tensor is too large")
    ranks = (_ranks_of_numbers if ignore_nan else _ranks)(rows, q)
    if interpolation in _ROUNDED:
        _ROUNDED[interpolation].call(ranks)
    found = _values_at(rows, ranks, interpolation)
    if not q._size:
        return ops.squeeze__dim.call(found, -1)
    return ops.squeeze__dim.call(ops.transpose_.call(ops.unsqueeze_.call(found, 0), 0, -1), -1)


def _check_q(q: Tensor) -> None:
    if q._device.type == "cpu" and not is_tensor_subclass_like(q):
        not_less = ops.ge_Scalar.call(q, 0)
        inside = ops.all.call(ops.logical_and_.call(not_less, ops.le_Scalar.call(q, 1)))
        if not is_scalar_tensor_true(inside):
            raise RuntimeError("quantile() q values must be in the range [0, 1]")


def is_scalar_tensor_true(tensor: Tensor) -> bool:
    """Return whether a 0-dim bool tensor is true, computed by ``equal``."""
    return ops.equal.call(tensor, ops.new_ones.call(tensor, (), bool_, "strided", tensor._device, None))


def _rows(self: Tensor, dim: int | None) -> Tensor:
    """The tensor with the reduced dimension as the last one."""
    if dim is None:
        return ops.flatten_using_ints.call(self, 0, -1)
    if wrap_dim(dim, len(self._size)) == len(self._size) - 1:
        return self
    return ops.transpose_int.call(ops.unsqueeze.call(self, -1), wrap_dim(dim, len(self._size)), -1)


def _ranks(rows: Tensor, q: Tensor) -> Tensor:
    """The ranks of the quantiles, as float64; the last one if there is a nan, which is sorted last."""
    last = rows._size[-1] - 1
    scaled = ops.mul_Scalar.call(_as(q, float64), last)
    missing = ops.any_dim.call(ops.isnan.call(rows), -1, True)
    ranks, missing = ops.broadcast_tensors.call([scaled, missing])
    return ops.masked_fill_Scalar.call(ranks, missing, last)


def _ranks_of_numbers(rows: Tensor, q: Tensor) -> Tensor:
    """The ranks of the quantiles among the elements that are not nan; the first one if there are none."""
    count = ops.sum_dim_IntList.call(ops.logical_not_.call(ops.isnan.call(rows)), (-1,), True, None)
    last = ops.sub_Scalar.call(count, 1, 1)
    ranks = ops.mul_Tensor.call(_as(q, float64), last)
    return ops.masked_fill__Scalar.call(ranks, ops.lt_Scalar.call(ranks, 0), 0)


def _values_at(rows: Tensor, ranks: Tensor, interpolation: str) -> Tensor:
    """The elements at the ranks, interpolated between two of them if a rank is fractional."""
    below = _as_indices(ranks)
    if interpolation not in ("linear", "midpoint"):
        (found,) = _elements(rows, [below])
        return found
    if interpolation == "midpoint":
        weights = ops.full_like.call(ranks, 0.5, rows._dtype, "strided", rows._device, None, None)
    else:
        weights = _as(ops.sub_Tensor.call(ranks, below, 1), rows._dtype)
    found, above = _elements(rows, [below, _as_indices(ops.ceil_.call(ranks))])
    return ops.lerp__Tensor.call(found, above, weights)


def _elements(rows: Tensor, ranks: list[Tensor]) -> list[Tensor]:
    """The elements of each row at some ranks. A few ranks are selected, for more the rows are sorted."""
    count = ranks[0]._size[-1]
    selects = rows._device.type == "cpu" and (count * len(ranks)) ** 2 <= rows._size[-1]
    if not selects or is_tensor_subclass_like(rows):
        ordered = ops.sort.call(rows, -1, False)[0]
        return [ops.gather.call(ordered, -1, rank, False) for rank in ranks]
    rows = in_format(rows)
    indices = _selected(rows, ranks)
    if len(ranks) == 1:
        return [ops.gather.call(rows, -1, indices, False)]
    parts = (ops.narrow.call(indices, -1, at * count, count) for at in range(len(ranks)))
    return [ops.gather.call(rows, -1, part, False) for part in parts]


def _selected(rows: Tensor, ranks: list[Tensor]) -> Tensor:
    """The indices of the elements with some ranks, for each row."""
    every = ops.cat.call(ranks, -1) if len(ranks) > 1 else ranks[0]
    if not numel(every._size):
        return ops.empty_memory_format.call(every._size, int64, "strided", every._device, None, None)
    wanted = ops.reshape.call(every, (-1, every._size[-1]))
    found = ops.empty_memory_format.call(wanted._size, int64, "strided", every._device, None, None)
    pairs = zip(rows._array.reshape(-1, rows._size[-1]), wanted._array.tolist(), strict=True)
    found._array[...] = numpy.array([_selected_in_row(row, own) for row, own in pairs])
    return ops.reshape.call(found, every._size)


def _selected_in_row(row: Any, wanted: list[int]) -> list[int]:
    """The indices that ``std::nth_element`` puts at the wanted positions, the middle one first."""
    _, equal = numpy.unique(row, return_inverse=True)
    indices, distinct = list(range(len(row))), equal.tolist()

    def select(positions: list[int], first: int, last: int) -> None:
        if positions:
            middle = len(positions) // 2
            nth = positions[middle]
            standard_nth_element(indices, distinct, nth, first, last)
            select(positions[:middle], first, nth)
            select(positions[middle + 1 :], nth + 1, last)

    select(sorted(set(wanted)), 0, len(indices))
    return [indices[position] for position in wanted]


def _as(tensor: Tensor, dtype: DType) -> Tensor:
    return ops.to_dtype.call(tensor, dtype, False, False, None)


def _as_indices(ranks: Tensor) -> Tensor:
    """The ranks as int64 indices (``toType(kLong)``)."""
    return ops.to_dtype_layout.call(ranks, int64, "strided", ranks._device, None, False, False, None)
