"""``histc``, ``histogram``, ``histogramdd`` (``aten/src/ATen/native/Histogram.cpp``, ``cpu/HistogramKernel.cpp``).

All of them count in ``_count``, which assigns points of N coordinates to N-dimensional bins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from dispatchviz.core.call.structured import resize_in_order
from dispatchviz.core.device.array_library import array_module, on_host
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, quiet
from dispatchviz.core.tensor.dtype import float32, float64, type_meta_name
from dispatchviz.core.tensor.tensor import Size, Tensor, numel

Range = list[float] | None

# -- histc -------------------------------------------------------------------------------------------------------------


def histogram_histc(self: Tensor, bins: int, min: Scalar, max: Scalar) -> Tensor:
    """The number of elements in each of ``bins`` bins of equal width."""
    return histogram_histc_out(self, bins, min, max, _empty(self))


def histogram_histc_out(self: Tensor, bins: int, min: Scalar, max: Scalar, out: Tensor) -> Tensor:
    """The ``out=`` version of ``histogram_histc``."""
    edges = _empty(self)
    points = ops.reshape.call(self, (numel(self._size), 1))
    _prepare(points, [bins], out, [edges])
    low, high = _finite_range(self, float(min), float(max))  # type: ignore[arg-type]
    ops.linspace_out.call(low, high, bins + 1, edges)
    _check(points, [edges], None)
    _count(points, None, False, out, [edges], _evenly)
    return out


def _histc(self: Tensor, bins: int, min: Scalar, max: Scalar) -> Tensor:
    """The number of elements in each bin of equal width, on CUDA."""
    return histogram_histc(self, bins, min, max)


def _histc_out(self: Tensor, bins: int, min: Scalar, max: Scalar, out: Tensor) -> Tensor:
    """Write the CUDA version of ``histc`` into ``out``."""
    return histogram_histc_out(self, bins, min, max, out)


def _finite_range(self: Tensor, low: float, high: float) -> tuple[float, float]:
    """The given range, or that of all elements (``histc_select_outer_bin_edges``).

    Raise RuntimeError for an invalid range.
    """
    if low == high and numel(self._size):
        bounds = ops.aminmax.call(self, None, False)
        low, high = (float(ops.item.call(bound)) for bound in bounds)  # type: ignore[arg-type]
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low >= high:
        raise RuntimeError("torch.histc: max must be larger than min")
    return low, high


# -- histogram ---------------------------------------------------------------------------------------------------------


def histogram_bins_tensor(self: Tensor, bins: Tensor, weight: Tensor | None, density: bool) -> tuple[Tensor, Tensor]:
    """The number of elements between each two edges, and the edges."""
    return histogram_out_bins_tensor_out(self, bins, weight, density, _empty(self), _empty(self))


def histogram_out_bins_tensor_out(
    self: Tensor, bins: Tensor, weight: Tensor | None, density: bool, hist: Tensor, bin_edges: Tensor
) -> tuple[Tensor, Tensor]:
    """Write ``histogram`` into two tensors."""
    points, weights = _as_points(self, weight)
    _between(points, [bins], weights, density, hist, [bin_edges])
    return hist, bin_edges


def histogram_bin_ct(
    self: Tensor, bins: int, range: Range, weight: Tensor | None, density: bool
) -> tuple[Tensor, Tensor]:
    """The number of elements in each of ``bins`` bins of equal width, and the edges."""
    return histogram_out_bin_ct_out(self, bins, range, weight, density, _empty(self), _empty(self))


def histogram_out_bin_ct_out(
    self: Tensor, bins: int, range: Range, weight: Tensor | None, density: bool, hist: Tensor, bin_edges: Tensor
) -> tuple[Tensor, Tensor]:
    """Write ``histogram`` into two tensors."""
    points, weights = _as_points(self, weight)
    _prepare(points, [bins], hist, [bin_edges])
    [(low, high)] = _outer_edges(points, range)
    ops.linspace_out.call(low, high, bins + 1, bin_edges)
    _check(points, [bin_edges], weights)
    _count(points, weights, density, hist, [bin_edges], _evenly_searched)
    return hist, bin_edges


def _as_points(self: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor | None]:
    points = ops.reshape.call(self, (numel(self._size), 1))
    return points, None if weight is None else ops.reshape.call(weight, (numel(weight._size),))


# -- histogramdd -------------------------------------------------------------------------------------------------------

Edges = tuple[Tensor, list[Tensor]]


def histogramdd(self: Tensor, bins: Size, range: Range, weight: Tensor | None, density: bool) -> Edges:
    """The histogram of points, with a number of bins for each coordinate."""
    edges = ops._histogramdd_bin_edges.call(self, bins, range, weight, density)
    return ops._histogramdd_from_bin_cts.call(self, bins, range, weight, density), edges


def histogramdd_int_bins(self: Tensor, bins: int, range: Range, weight: Tensor | None, density: bool) -> Edges:
    """The histogram of points, with the same number of bins for each coordinate."""
    counts = (bins,) * self._size[-1]
    edges = ops._histogramdd_bin_edges.call(self, counts, range, weight, density)
    return ops._histogramdd_from_bin_cts.call(self, counts, range, weight, density), edges


def histogramdd_TensorList_bins(
    self: Tensor, bins: list[Tensor], range: Range, weight: Tensor | None, density: bool
) -> Edges:
    """The histogram of points, with given edges."""
    return ops._histogramdd_from_bin_tensors.call(self, bins, weight, density), list(bins)


def histogramdd_bin_edges(self: Tensor, bins: Size, range: Range, weight: Tensor | None, density: bool) -> list[Tensor]:
    """Evenly spaced edges along each coordinate."""
    edges = _empty_edges(self)
    if len(bins) != len(edges):
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    points = ops.reshape.call(self, (numel(self._size[:-1]), self._size[-1]))
    for each, count, (low, high) in zip(edges, bins, _outer_edges(points, range), strict=True):
        ops.linspace_out.call(low, high, count + 1, each)
    return edges


def _histogramdd(self: Tensor, bins: Any, *how: Any) -> Tensor:
    """The number of points in each N-dimensional bin.

    ``how`` is range, weight, density if ``bins`` are numbers, and weight, density if they are edges.
    """
    hist, edges = _empty(self), _empty_edges(self)
    *given, weight, density = how
    if not given:
        _between(self, bins, weight, density, hist, edges)
        return hist
    found = histogramdd_bin_edges(self, bins, given[0], weight, density)
    _prepare(self, bins, hist, edges)
    for edge, each in zip(edges, found, strict=True):
        ops.copy_.call(edge, each, False)
    _check(self, edges, weight)
    _count(self, weight, density, hist, edges, _evenly_searched)
    return hist


def _empty_edges(self: Tensor) -> list[Tensor]:
    if len(self._size) < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    return [_empty(self) for _ in range(self._size[-1])]


# -- shared ------------------------------------------------------------------------------------------------------------


def _empty(like: Tensor) -> Tensor:
    return ops.empty_memory_format.call((0,), like._dtype, "strided", like._device, None, None)


def _between(
    points: Tensor, bins: Sequence[Tensor], weight: Tensor | None, density: bool, hist: Tensor, edges: list[Tensor]
) -> None:
    """Count points between given edges."""
    _check(points, bins, weight)
    _prepare(points, [numel(each._size) - 1 for each in bins], hist, edges)
    for edge, each in zip(edges, bins, strict=True):
        ops.copy_.call(edge, each, False)
    _count(points, weight, density, hist, edges, _searched)


def _prepare(points: Tensor, bins: Sequence[int], hist: Tensor, edges: Sequence[Tensor]) -> None:
    """Resize the outputs. Raise RuntimeError for arguments that do not fit (``histogramdd_prepare_out``)."""
    for dim, count in enumerate(bins):
        if count <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {count} for dimension {dim}")
    for edge, count in zip(edges, bins, strict=True):
        resize_in_order(edge, (count + 1,))
    if hist._dtype is not points._dtype:
        raise RuntimeError(
            "torch.histogram: input tensor and hist tensor should have the same dtype, but got input "
            f"{type_meta_name(points._dtype)} and hist {type_meta_name(hist._dtype)}"
        )
    resize_in_order(hist, tuple(bins))


def _check(points: Tensor, bins: Sequence[Tensor], weight: Tensor | None) -> None:
    """Raise RuntimeError for arguments that do not fit (``histogramdd_check_inputs``)."""
    if len(points._size) < 2:
        raise RuntimeError(
            f"torch.histogramdd: input tensor should have at least 2 dimensions, but got {len(points._size)}"
        )
    count = points._size[-1]
    if len(bins) != count:
        raise RuntimeError(
            f"torch.histogramdd: expected {count} sequences of bin edges for a {count}-dimensional histogram but got "
            f"{len(bins)}"
        )
    for dim, each in enumerate(bins):
        _check_edges(points, each, dim)
    if weight is not None:
        _check_weight(points, weight)


def _check_edges(points: Tensor, bins: Tensor, dim: int) -> None:
    if len(bins._size) != 1:
        raise RuntimeError(
            f"torch.histogramdd: bins tensor should have one dimension, but got {len(bins._size)} dimensions in the "
            f"bins tensor for dimension {dim}"
        )
    if bins._dtype is not points._dtype:
        raise RuntimeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
            f"{type_meta_name(points._dtype)} and bins for dimension {dim} with dtype {type_meta_name(bins._dtype)}"
        )
    if not bins._size[0]:
        raise RuntimeError(
            "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for "
            f"dimension {dim}"
        )


def _check_weight(points: Tensor, weight: Tensor) -> None:
    if weight._dtype is not points._dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got input({type_meta_name(points._dtype)}), and weight({type_meta_name(weight._dtype)})"
        )
    if (weight._size or (1,)) != points._size[:-1]:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {list(points._size)} and weight with shape "
            f"{list(weight._size)}"
        )


def _outer_edges(points: Tensor, given: Range) -> list[tuple[float, float]]:
    """The range of each coordinate, given or found (``select_outer_bin_edges``)."""
    count = points._size[-1]
    pairs = [(0.0, 1.0)] * count
    if given is not None:
        if len(given) != 2 * count:
            raise RuntimeError(
                f"torch.histogramdd: for a {count}-dimensional histogram range should have {2 * count} elements, but "
                f"got {len(given)}"
            )
        pairs = list(zip(given[::2], given[1::2], strict=True))
    elif numel(points._size):
        if points._dtype not in (float32, float64):
            raise not_implemented("histogramdd", points._dtype)
        low, high = ops.aminmax.call(points, 0, False)
        pairs = list(zip(low._array.tolist(), high._array.tolist(), strict=True))
    return [_widened(dim, *pair) for dim, pair in enumerate(pairs)]


def _widened(dim: int, low: float, high: float) -> tuple[float, float]:
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {dim}"
        )
    return (low - 0.5, high + 0.5) if low == high else (low, high)


# -- counting ----------------------------------------------------------------------------------------------------------

Search = Callable[[Any, Any], Any]
"""A function from coordinates and edges to the bin of each coordinate; the last edge belongs to the last bin."""


def _searched(values: Any, edges: Any) -> Any:
    return edges.searchsorted(values, "right") - 1


def _evenly(values: Any, edges: Any) -> Any:
    """The bins of evenly spaced edges, by a division."""
    last = values.dtype.type(len(edges) - 1)
    return ((values - edges[0]) * last / (edges[-1] - edges[0])).astype("int64")


def _evenly_searched(values: Any, edges: Any) -> Any:
    """The bins of evenly spaced edges, by a division whose result is corrected by one if needed."""
    indices = _evenly(values, edges)
    first = numpy.maximum(indices - 1, 0)
    stop = numpy.minimum(indices + 2, len(edges))
    found = first
    for step in range(3):
        at = numpy.minimum(first + step, len(edges) - 1)
        found = numpy.where((first + step < stop) & (edges[at] <= values), first + step + 1, found)
    return found - 1


def _count(
    points: Tensor, weight: Tensor | None, density: bool, hist: Tensor, edges: Sequence[Tensor], search: Search
) -> None:
    ops.fill__Scalar.call(hist, 0)
    if not points._dtype.is_floating_point:
        raise not_implemented("histogram_cpu", points._dtype)
    rows = ops.reshape.call(points, (numel(points._size[:-1]), points._size[-1]))
    weights = None if weight is None else ops.reshape.call(weight, (numel(weight._size),))
    counts = ops.zeros.call((1, *hist._size), hist._dtype, "strided", hist._device, None)
    if counts._array is not None:
        _add_up(counts, rows, weights, edges, search)
    ops.sum_IntList_out.call(counts, (0,), False, None, hist)
    if density:
        _divide(hist, edges)


def _add_up(counts: Tensor, rows: Tensor, weights: Tensor | None, edges: Sequence[Tensor], search: Search) -> None:
    """Add up the points in each bin. Points outside, and nan, are not counted."""
    values = on_host(rows._array)
    inside, indices = numpy.ones(len(values), bool), []
    limits = [on_host(edge._array) for edge in edges]
    for column, limit in zip(values.T, limits, strict=True):
        inside &= (column >= limit[0]) & (column <= limit[-1])
    for column, limit in zip(values[inside].T, limits, strict=True):
        indices.append(numpy.minimum(quiet.run(search, column, limit), len(limit) - 2))
    total = numpy.zeros(counts._size[1:], counts._dtype.numpy)
    added = numpy.ones((), total.dtype) if weights is None else on_host(weights._array)[inside]
    numpy.add.at(total, tuple(indices), added)
    counts._array[0] = array_module(counts._device.type).asarray(total)


def _divide(hist: Tensor, edges: Sequence[Tensor]) -> None:
    """Divide by the total and by the size of each bin."""
    ops.div__Scalar.call(hist, ops.item.call(ops.sum.call(hist, None)))
    for dim, edge in enumerate(edges):
        widths = ops.diff.call(edge, 1, -1, None, None)
        shape = tuple(numel(widths._size) if at == dim else 1 for at in range(len(edges)))
        ops.div__Tensor.call(hist, ops.reshape.call(widths, shape))
