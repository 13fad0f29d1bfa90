"""``diff``, ``gradient``: finite differences (``aten/src/ATen/native/ReduceOps.cpp``).

C++ evaluates the operands of an operator and the arguments of a call from right to left. Lines are in that order here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dispatchviz.core.call.structured import resize_output
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.wrap_dim import dim_mask, wrap_dim
from dispatchviz.core.tensor.dtype import bool_, uint8
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides

# -- diff --------------------------------------------------------------------------------------------------------------


def diff(self: Tensor, n: int, dim: int, prepend: Tensor | None, append: Tensor | None) -> Tensor:
    """The difference of each element and its predecessor, applied n times."""
    _check(self, n, dim, prepend, append)
    if n:
        self = _extended(self, prepend, append, dim)
    return _differences(self, n, dim)


def diff_out(self: Tensor, n: int, dim: int, prepend: Tensor | None, append: Tensor | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``diff``."""
    _check(self, n, dim, prepend, append)
    if n == 0:
        if out._size != self._size:
            resize_output(out, self._size, contiguous_strides(self._size))
        if out._dtype is not self._dtype:
            raise RuntimeError(f"expected scalar_type {self._dtype.legacy} but found {out._dtype.legacy}")
        return ops.copy_.call(out, self, False)
    self = _extended(self, prepend, append, dim)
    wrapped = wrap_dim(dim, len(self._size))
    n = min(n, self._size[wrapped])
    if n > 1:
        self = _differences(self, n - 1, dim)
    length = self._size[wrapped] - 1
    before = ops.narrow.call(self, dim, 0, length)
    after = ops.narrow.call(self, dim, 1, length)
    if self._dtype is bool_:
        return ops.logical_xor_out.call(after, before, out)
    return ops.sub_out.call(after, before, 1, out)


def _check(self: Tensor, n: int, dim: int, prepend: Tensor | None, append: Tensor | None) -> None:
    if not self._size:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    for other in (prepend, append):
        if other is not None:
            _check_other(self, other, wrap_dim(dim, len(self._size)))


def _check_other(self: Tensor, other: Tensor, dim: int) -> None:
    if len(other._size) != len(self._size):
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for at, (mine, theirs) in enumerate(zip(self._size, other._size, strict=True)):
        if at != dim and mine != theirs:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along the "
                f"differencing dimension; input.size({at}) = {mine}, but got tensor.size({at}) = {theirs}"
            )


def _extended(self: Tensor, prepend: Tensor | None, append: Tensor | None, dim: int) -> Tensor:
    """The tensor with ``prepend`` and ``append`` concatenated along a dimension (``prepend_append_on_dim``)."""
    parts = [part for part in (prepend, self, append) if part is not None]
    return self if len(parts) == 1 else ops.cat.call(parts, dim)


def _differences(self: Tensor, n: int, dim: int) -> Tensor:
    if n == 0:
        zeros = ops.zeros_like.call(self, None, None, None, None, None)
        return ops.copy_.call(zeros, self, False)
    length = self._size[wrap_dim(dim, len(self._size))]
    for each in range(min(n, length)):
        before = ops.narrow.call(self, dim, 0, length - 1 - each)
        after = ops.narrow.call(self, dim, 1, length - 1 - each)
        if self._dtype is bool_:
            self = ops.logical_xor.call(after, before)
        else:
            self = ops.sub_Tensor.call(after, before, 1)
    return self


# -- gradient: its overloads -------------------------------------------------------------------------------------------


def gradient_scalarint(self: Tensor, spacing: Scalar | None, dim: int | None, edge_order: int) -> list[Tensor]:
    """The gradient along one dimension or all, with one distance between elements."""
    dims = None if dim is None else (dim,)
    _check_gradient(self, None, dims, edge_order)
    return _even(self, _dims(self, dims), [1.0 if spacing is None else spacing] * len(_dims(self, dims)), edge_order)


def gradient_scalararray(self: Tensor, spacing: Scalar, dim: Size, edge_order: int) -> list[Tensor]:
    """The gradient along some dimensions, with one distance between elements."""
    _check_gradient(self, None, dim, edge_order)
    return _even(self, dim, [spacing] * len(dim), edge_order)


def gradient_array(self: Tensor, dim: Size, edge_order: int) -> list[Tensor]:
    """The gradient along some dimensions, with a distance of 1 between elements."""
    _check_gradient(self, None, dim, edge_order)
    return _even(self, dim, [1.0] * len(dim), edge_order)


def gradient_scalarrayint(self: Tensor, spacing: Sequence[Scalar], dim: int | None, edge_order: int) -> list[Tensor]:
    """The gradient with a distance for each dimension."""
    dims = None if dim is None else (dim,)
    _check_gradient(self, len(spacing), dims, edge_order)
    return _even(self, _dims(self, dims), spacing, edge_order)


def gradient_scalarrayarray(self: Tensor, spacing: Sequence[Scalar], dim: Size, edge_order: int) -> list[Tensor]:
    """The gradient with a distance for each of some dimensions."""
    _check_gradient(self, len(spacing), dim, edge_order)
    return _even(self, dim, spacing, edge_order)


def gradient_tensorarrayint(self: Tensor, spacing: Sequence[Tensor], dim: int | None, edge_order: int) -> list[Tensor]:
    """The gradient with a tensor of coordinates for each dimension."""
    dims = None if dim is None else (dim,)
    _check_gradient(self, len(spacing), dims, edge_order)
    return _uneven(self, _dims(self, dims), spacing, edge_order)


def gradient_tensorarray(self: Tensor, spacing: Sequence[Tensor], dim: Size, edge_order: int) -> list[Tensor]:
    """The gradient with a tensor of coordinates for each of some dimensions."""
    _check_gradient(self, len(spacing), dim, edge_order)
    return _uneven(self, dim, spacing, edge_order)


def _dims(self: Tensor, dims: Size | None) -> Size:
    return tuple(range(len(self._size))) if dims is None else dims


def _check_gradient(self: Tensor, spacings: int | None, dims: Size | None, edge_order: int) -> None:
    """Raise RuntimeError for arguments that do not fit (``pre_check_gradient``)."""
    if self._dtype is uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if spacings is not None and dims is None and spacings != len(self._size):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = "
            f"{len(self._size)}', since dim argument was not given, but got a list of length {spacings}"
        )
    if spacings is not None and dims is not None and spacings != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the "
            f"same length, but got a spacing argument of length {spacings} and a dim argument of length {len(dims)}."
        )
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dim_mask(dims, len(self._size))
    if any(self._size[dim] < edge_order + 1 for dim in _dims(self, dims)):
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")


# -- gradient: at even distances ---------------------------------------------------------------------------------------


def _even(self: Tensor, dims: Size, spacing: Sequence[Scalar], edge_order: int) -> list[Tensor]:
    """The gradients at evenly spaced points (``gradient_helper_float``)."""
    found = []
    for dim, step in zip(dims, spacing, strict=True):
        part = _slices(self, wrap_dim(dim, len(self._size)))
        center = ops.div_Scalar.call(_difference(part, (2, None), (0, -2)), step)
        if edge_order == 1:
            first = ops.div_Scalar.call(_difference(part, (1, 2), (0, 1)), step)
            last = ops.div_Scalar.call(_difference(part, (-1, None), (-2, -1)), step)
        else:
            third, second, start = (_times(part(*at), by) for at, by in (((2, 3), 0.5), ((1, 2), 2), ((0, 1), -1.5)))
            first = ops.div_Scalar.call(ops.sub_Tensor.call(ops.add_Tensor.call(start, second, 1), third, 1), step)
            end, before, earlier = (
                _times(part(*at), by) for at, by in (((-1, None), 1.5), ((-2, -1), 2), ((-3, -2), 0.5))
            )
            last = ops.div_Scalar.call(ops.add_Tensor.call(ops.sub_Tensor.call(earlier, before, 1), end, 1), step)
        halved = ops.div_Scalar.call(center, 2)
        found.append(ops.cat.call([first, halved, last], wrap_dim(dim, len(self._size))))
    return found


Slices = Callable[[int, int | None], Tensor]


def _slices(self: Tensor, dim: int) -> Slices:
    return lambda start, end: ops.slice_Tensor.call(self, dim, start, end, 1)


def _difference(part: Slices, one: tuple[int, int | None], other: tuple[int, int | None]) -> Tensor:
    subtracted = part(*other)
    return ops.sub_Tensor.call(part(*one), subtracted, 1)


def _times(tensor: Tensor, factor: Scalar) -> Tensor:
    return ops.mul_Scalar.call(tensor, factor)


# -- gradient: at coordinates ------------------------------------------------------------------------------------------


def _uneven(self: Tensor, dims: Size, coordinates: Sequence[Tensor], edge_order: int) -> list[Tensor]:
    """The gradients at given coordinates (``gradient_helper``)."""
    found = []
    for dim, indices in zip(dims, coordinates, strict=True):
        if indices._device != self._device:
            raise RuntimeError(
                "torch.gradient expected each tensor to be on the same device, but got devices "
                f"{self._device} and {indices._device}."
            )
        dim = wrap_dim(dim, len(self._size))
        part, steps = _slices(self, dim), ops.diff.call(indices, 1, 0, None, None)
        center = _inner(part, steps, tuple(-1 if at == dim else 1 for at in range(len(self._size))))
        first, last = _edges(part, steps) if edge_order == 1 else _wide_edges(part, steps)
        found.append(ops.cat.call([first, center, last], dim))
    return found


def _inner(part: Slices, steps: Tensor, shape: Size) -> Tensor:
    left = ops.slice_Tensor.call(steps, 0, 0, -1, 1)
    right = ops.slice_Tensor.call(steps, 0, 1, None, 1)
    below = ops.mul_Tensor.call(left, ops.add_Tensor.call(left, right, 1))
    a = ops.reshape.call(ops.div_Tensor.call(ops.neg.call(right), below), shape)
    both = ops.mul_Tensor.call(left, right)
    b = ops.reshape.call(ops.div_Tensor.call(ops.sub_Tensor.call(right, left, 1), both), shape)
    above = ops.mul_Tensor.call(right, ops.add_Tensor.call(left, right, 1))
    c = ops.reshape.call(ops.div_Tensor.call(left, above), shape)
    return _weighted(part, (a, b, c), ((0, -2), (1, -1), (2, None)))


def _weighted(part: Slices, weights: Sequence[Tensor], indices: Sequence[tuple[int, int | None]]) -> Tensor:
    """a * x + b * y + c * z"""
    products = [ops.mul_Tensor.call(weight, part(*at)) for weight, at in zip(weights[::-1], indices[::-1], strict=True)]
    return ops.add_Tensor.call(ops.add_Tensor.call(products[2], products[1], 1), products[0], 1)


def _edges(part: Slices, steps: Tensor) -> tuple[Tensor, Tensor]:
    first = ops.select_int.call(steps, 0, 0)
    start = ops.div_Tensor.call(_difference(part, (1, 2), (0, 1)), first)
    last = ops.select_int.call(steps, 0, -1)
    return start, ops.div_Tensor.call(_difference(part, (-1, None), (-2, -1)), last)


def _wide_edges(part: Slices, steps: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient at both edges through three points, weighted by the two steps at that edge."""

    def step(index: int) -> Tensor:
        return ops.select_int.call(steps, 0, index)

    def both(one: int, other: int) -> Tensor:
        right = step(other)
        return ops.add_Tensor.call(step(one), right, 1)

    def times_both(factor: int, one: int, other: int) -> Tensor:
        total = both(one, other)
        return ops.mul_Tensor.call(step(factor), total)

    def product(one: int, other: int) -> Tensor:
        right = step(other)
        return ops.mul_Tensor.call(step(one), right)

    def twice_and(two: Scalar, one: int, other: int) -> Tensor:
        right = step(other)
        return ops.add_Tensor.call(_times(step(one), two), right, 1)

    below = times_both(0, 0, 1)
    a = ops.div_Tensor.call(ops.neg.call(twice_and(2.0, 0, 1)), below)
    below = product(0, 1)
    b = ops.div_Tensor.call(both(0, 1), below)
    below = times_both(1, 0, 1)
    c = ops.div_Tensor.call(ops.neg.call(step(0)), below)
    first = _weighted(part, (a, b, c), ((0, 1), (1, 2), (2, 3)))
    below = times_both(-2, -1, -2)
    a = ops.div_Tensor.call(step(-1), below)
    below = product(-1, -2)
    b = ops.div_Tensor.call(ops.neg.call(both(-1, -2)), below)
    below = times_both(-1, -1, -2)
    c = ops.div_Tensor.call(twice_and(2, -1, -2), below)
    return first, _weighted(part, (a, b, c), ((-3, -2), (-2, -1), (-1, None)))
