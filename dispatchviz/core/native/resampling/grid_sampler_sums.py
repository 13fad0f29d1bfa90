"""Grid sampling of arrays: weighted sums over taps, and their gradients
(``aten/src/ATen/native/cpu/GridSamplerKernel.cpp``).

Every step is rounded to the input's dtype, so the order of the steps affects the result in half precision. The taps of
an image are added up all at once, those of cubic interpolation row by row, and gradients of a grid channel by channel.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import Any, NamedTuple

from dispatchviz.core.native.indexing.ufunc_at import add_at
from dispatchviz.core.native.resampling.grid_sampler_taps import BICUBIC, NEAREST, Element, Taps, elements, taps
from dispatchviz.core.tensor.tensor import Size

Mode = tuple[int, int, bool]
"""The interpolation, the padding, and align_corners."""
_VECTOR = 32
"""The bytes that the kernel for images reads at once. PyTorch does not compile it for AVX-512."""


class Samples(NamedTuple):
    """The array to sample, and the taps of each sample."""

    xp: Any
    values: Any
    by_dim: list[Taps]
    """The taps of each dimension of the input, as arrays of (N, 1, *output size)."""
    mode: Mode

    @property
    def space(self) -> Size:
        """The spatial size of the input."""
        return tuple(self.values.shape[2:])

    def at(self, element: Element) -> Any:
        """The element for every sample, as (N, C, *output size); 0 where it is outside."""
        found = self.values[self.positions(element)]
        kept = self.xp.where(element.inside, found, found.dtype.type(0))
        return kept.astype(found.dtype, copy=False)  # CuPy computes where() of bfloat16 in float32

    def positions(self, element: Element) -> tuple[Any, ...]:
        """The index of an element in the input, with batch and channel."""
        count, channels = self.values.shape[:2]
        more = (1,) * len(self.space)
        batch = self.xp.arange(count).reshape(-1, 1, *more)
        return batch, self.xp.arange(channels).reshape(1, -1, *more), *element.indices


def samples(xp: Any, values: Any, grid: Any, mode: Mode) -> Samples:
    """The samples of arrays."""
    dims = values.ndim - 2
    indices = grid[:, None]
    found = [taps(xp, indices[..., dims - 1 - d], values.shape[2 + d], mode, dims) for d in range(dims)]
    return Samples(xp, values, found, mode)


def sampled(given: Samples) -> Any:
    """The sampled values (N, C, *output size)."""
    if given.mode[0] != BICUBIC:
        return reduce(add, (given.at(each) * each.weight for each in elements(given.by_dim, given.space)))
    height, width = given.by_dim
    rows = []
    for tap in height.taps:
        row = given._replace(by_dim=[Taps([tap], height.scale), width])
        along = elements(row.by_dim, given.space)
        rows.append(reduce(add, (given.at(each) * each.weights[1] for each in along)) * tap.weight)
    return reduce(add, rows)


# -- gradient of the input ---------------------------------------------------------------------------------------------


def input_gradient(given: Samples, grad: Any) -> Any:
    """The gradient of the input: each sample's gradient is added to its elements."""
    xp, total = given.xp, given.xp.zeros(given.values.shape, given.values.dtype)
    each = list(_columns_first(given) if given.mode[0] == BICUBIC else elements(given.by_dim, given.space))
    indices = [xp.ravel_multi_index(xp.broadcast_arrays(*given.positions(one)), total.shape) for one in each]
    terms = [_weighted(given, grad, one) for one in each]
    inside = [xp.broadcast_to(one.inside, grad.shape) for one in each]
    order = _order_of_adding(given, len(each), _count(grad.shape[2:]))
    valid, where, added = (_in_order(xp, parts, order) for parts in (inside, indices, terms))
    add_at(total.reshape(-1), where[valid], added[valid])
    return total


def _columns_first(given: Samples) -> Iterator[Element]:
    height, width = given.by_dim
    for tap in width.taps:
        yield from elements([height, Taps([tap], width.scale)], given.space)


def _weighted(given: Samples, grad: Any, element: Element) -> Any:
    if given.mode[0] == BICUBIC:
        return grad * element.weights[1] * element.weights[0]
    return grad * element.weight


def _order_of_adding(given: Samples, taps: int, indices: int) -> Any:
    """The order of addition: as many samples as fit into a vector, tap by tap, then the next ones.

    Volumes are added sample by sample.
    """
    lanes = _VECTOR // given.values.itemsize if len(given.space) == 2 else 1
    index = given.xp.arange(indices)
    ranks = index // lanes * (lanes * taps) + index % lanes + given.xp.arange(taps)[:, None] * lanes
    return given.xp.argsort(ranks.reshape(-1))


def _in_order(xp: Any, parts: list[Any], order: Any) -> Any:
    batch, channels = parts[0].shape[:2]
    return xp.stack([part.reshape(batch, channels, -1) for part in parts], 2).reshape(batch, channels, -1)[..., order]


def _count(shape: Size) -> int:
    found = 1
    for length in shape:
        found *= length
    return found


# -- gradient of the grid ----------------------------------------------------------------------------------------------


def grid_gradient(given: Samples, grad: Any) -> Any:
    """The gradient of the grid (N, *output size, dimensions), width first."""
    if given.mode[0] == NEAREST:
        found = [given.xp.zeros_like(grad[:, 0]) for _ in given.by_dim]
    elif len(given.space) == 3:
        found = _volume_gradients(given, grad)
    else:
        found = _cubic_gradients(given, grad) if given.mode[0] == BICUBIC else _bilinear_gradients(given, grad)
    scaled = [derivative * along.scale[:, 0] for derivative, along in zip(found, given.by_dim, strict=True)]
    return given.xp.stack(scaled[::-1], -1)


def _volume_gradients(given: Samples, grad: Any) -> list[Any]:
    parts: list[list[Any]] = [[], [], []]
    for each in elements(given.by_dim, given.space):
        value = given.at(each)
        for d, terms in enumerate(parts):
            near, far = [each.weights[other] for other in (2, 1, 0) if other != d]
            terms.append(value * near * far * grad * each.derivatives[d])
    return [_over_channels(terms) for terms in parts]


def _bilinear_gradients(given: Samples, grad: Any) -> list[Any]:
    (south, north), (east, west) = [[tap.weight for tap in along.taps] for along in given.by_dim]
    nw, ne, sw, se = (given.at(each) for each in elements(given.by_dim, given.space))
    by_width = ((ne - nw) * south + (se - sw) * north) * grad
    by_height = ((sw - nw) * east + (se - ne) * west) * grad
    return [_over_channels([by_height]), _over_channels([by_width])]


def _cubic_gradients(given: Samples, grad: Any) -> list[Any]:
    by_height, by_width = [], []
    for each in _columns_first(given):
        felt = given.at(each) * grad
        by_height.append(felt * each.derivatives[0] * each.weights[1])
        by_width.append(felt * each.derivatives[1] * each.weights[0])
    return [_over_channels(by_height), _over_channels(by_width)]


def _over_channels(parts: list[Any]) -> Any:
    """The sum of all parts, channel by channel."""
    return reduce(add, (part[:, channel] for channel in range(parts[0].shape[1]) for part in parts))
