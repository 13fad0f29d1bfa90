"""``cdist``, ``pdist``: pairwise distances between the rows of matrices (``aten/src/ATen/native/Distance.cpp``).

``p`` is the order of the norm. Its gradient is 0 wherever a distance is 0.
"""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.core.call.structured import broadcast_sizes
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, quiet, store
from dispatchviz.core.tensor.tensor import Size, Tensor, numel

BY_PRODUCT, BY_PRODUCT_IF_MANY = 1, 0
"""The values of ``compute_mode`` that compute the Euclidean distance from a matrix product, always or only for more
than 25 rows.
"""

# -- norms -------------------------------------------------------------------------------------------------------------


def _norm(xp: Any, difference: Any, p: float) -> Any:
    """The norm over the last dimension."""
    length = xp.abs(difference)
    if p == 0:
        return xp.minimum(xp.ceil(length), 1).sum(-1)
    if p == 1:
        return length.sum(-1)
    if p == 2:
        return xp.sqrt((length * length).sum(-1))
    if math.isinf(p):
        return length.max(-1)
    return (length**p).sum(-1) ** (1 / p)


def _difference_gradient(xp: Any, difference: Any, grad: Any, distance: Any, p: float) -> Any:
    """The gradient of the difference; ``grad`` and ``distance`` have a last dimension of one."""
    length, sign = xp.abs(difference), xp.sign(difference)
    if p == 0:
        return xp.zeros_like(difference)
    if p == 1:
        return grad * sign
    if math.isinf(p):
        return grad * sign * (1 - xp.minimum(1, xp.ceil(xp.abs(length - distance))))
    zero = xp.zeros((), difference.dtype)
    if p == 2:
        return xp.where(distance == 0, zero, grad * difference / distance)
    if p < 2:
        flat = (distance == 0) | ((difference == 0) & (p < 1))
        return xp.where(flat, zero, sign * length ** (p - 1) * grad / distance ** (p - 1))
    return xp.where(distance == 0, zero, difference * length ** (p - 2) * grad / distance ** (p - 1))


# -- cdist -------------------------------------------------------------------------------------------------------------


def cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None) -> Tensor:
    """The distances (*, rows of x1, rows of x2). Raise RuntimeError for tensors or a norm that do not fit."""
    _check_columns(x1, x2)
    _check_kinds(x1, x2, p)
    if _uses_product(x1, x2, p, compute_mode) and numel(x1._size) and numel(x2._size):
        return _cdist_impl(x1, x2, p, compute_mode)
    return ops._cdist_forward.call(x1, x2, p, compute_mode)


def _cdist_forward(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None) -> Tensor:
    """The distances (*, rows of x1, rows of x2) of prepared tensors."""
    _check_columns(x1, x2)
    _check_kinds(x1, x2, p)
    return _cdist_impl(x1, x2, p, compute_mode)


def _check_columns(x1: Tensor, x2: Tensor) -> None:
    for name, x in (("X1", x1), ("X2", x2)):
        if len(x._size) < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {len(x._size)}D")
    if x1._size[-1] != x2._size[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1._size[-1]} X2: {x2._size[-1]}")


def _check_kinds(x1: Tensor, x2: Tensor, p: float) -> None:
    for name, x in (("X1", x1), ("X2", x2)):
        if not x._dtype.is_floating_point:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x._dtype.legacy}")
    if not p >= 0:  # NaN is refused too
        raise RuntimeError("cdist only supports non-negative p values")


def _uses_product(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None) -> bool:
    mode = compute_mode or BY_PRODUCT_IF_MANY
    if not 0 <= mode <= 2:
        raise RuntimeError(f"possible modes: 0, 1, 2, but was: {mode}")
    many = x1._size[-2] > 25 or x2._size[-2] > 25
    return p == 2 and (mode == BY_PRODUCT or (mode == BY_PRODUCT_IF_MANY and many))


def _cdist_impl(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None) -> Tensor:
    batch = broadcast_sizes(x1._size[:-2], x2._size[:-2])
    size = (*batch, x1._size[-2], x2._size[-2])
    first, second = (_flat_batches(x, batch) for x in (x1, x2))
    if not numel(size):
        return ops.empty_memory_format.call(size, x1._dtype, "strided", x1._device, None, None)
    if not x1._size[-1]:
        return ops.zeros.call(size, x1._dtype, "strided", x1._device, None)
    if _uses_product(x1, x2, p, compute_mode):
        alone = math.prod(batch) == 1
        distances = ops._euclidean_dist.call(x1, x2) if alone else ops._euclidean_dist.call(first, second)
        return ops.view.call(distances, size)
    result = ops.empty_memory_format.call(size, x1._dtype, "strided", x1._device, None, None)
    _check_alike(x1, x2)
    xp: Any = array_module(x1._device.type)
    store(result, quiet.run(_norm, xp, _differences(first._array, second._array), p).reshape(size))
    return result


def _flat_batches(x: Tensor, batch: Size) -> Tensor:
    expanded = ops.expand.call(x, (*batch, *x._size[-2:]), False)
    return ops.view.call(in_format(expanded), (math.prod(batch), *x._size[-2:]))


def _check_alike(x1: Tensor, x2: Tensor) -> None:
    if x1._dtype.name not in ("float32", "float64"):
        raise not_implemented("cdist", x1._dtype)
    if x1._dtype is not x2._dtype:
        raise RuntimeError(f"expected scalar type {x1._dtype.legacy} but found {x2._dtype.legacy}")


def _differences(first: Any, second: Any) -> Any:
    """The differences of each row of one batch with each row of the other."""
    return first[..., :, None, :] - second[..., None, :, :]


def _cdist_backward(grad_output: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor) -> Tensor:
    """The gradient of x1. Raise RuntimeError if a tensor is not contiguous."""
    batch = broadcast_sizes(x1._size[:-2], x2._size[:-2])
    rows, columns = x1._size[-2:]
    first, second = (_expanded(x, batch) for x in (x1, x2))
    if not (numel((*batch, rows)) and x2._size[-2] and columns):
        return ops.zeros_like.call(x1, None, None, None, None, "contiguous_format")
    size = (math.prod(batch), rows, columns)
    grad_x1 = ops.empty_memory_format.call(size, x1._dtype, "strided", x1._device, None, "contiguous_format")
    ops.fill__Scalar.call(grad_x1, 0)
    xp: Any = array_module(x1._device.type)
    gradients = quiet.run(
        _difference_gradient,
        xp,
        _differences(first._array, second._array),
        grad_output._array[..., None],
        cdist._array[..., None],
        p,
    )
    store(grad_x1, gradients.sum(-2).reshape(size))
    return ops.view.call(grad_x1, (*batch, rows, columns))


def _expanded(x: Tensor, batch: Size) -> Tensor:
    """A tensor expanded to the batch, contiguous."""
    if x._size[:-2] == batch:
        return x
    return in_format(ops.expand.call(x, (*batch, *x._size[-2:]), False))


def _euclidean_dist(x1: Tensor, x2: Tensor) -> Tensor:
    """The square root of ``x1 * x1 - 2 * x1 @ x2^T + x2 * x2``, from one matrix product."""
    sums, ones = [], []
    for x in (x1, x2):
        sums.append(ops.sum_dim_IntList.call(ops.pow_Tensor_Scalar.call(x, 2), (-1,), True, None))
        ones.append(ops.ones_like.call(sums[-1], None, None, None, None, "contiguous_format"))
    left = ops.cat.call([ops.mul_Scalar.call(x1, -2), sums[0], ones[0]], -1)
    right = ops.cat.call([x2, ones[1], sums[1]], -1)
    result = ops.matmul.call(left, ops.mT.call(right))
    return ops.sqrt_.call(ops.clamp_min_.call(result, 0))


# -- pdist -------------------------------------------------------------------------------------------------------------


def pdist(self: Tensor, p: float) -> Tensor:
    """The distances between every two rows of a matrix. Raise RuntimeError for anything else."""
    if len(self._size) != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {len(self._size)}D")
    if not self._dtype.is_floating_point:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return ops._pdist_forward.call(in_format(self), p)


def _pdist_forward(self: Tensor, p: float) -> Tensor:
    """The distances between every two rows of a contiguous matrix."""
    if not self._is_contiguous:
        raise RuntimeError("_pdist_forward requires contiguous input")
    result = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, "contiguous_format")
    rows, columns = self._size
    if rows <= 1:
        return ops.resize_.call(result, (0,), None)
    ops.resize_.call(result, (rows * (rows - 1) // 2,), None)
    if not columns:
        return ops.fill__Scalar.call(result, 0)
    if self._dtype.name not in ("float32", "float64"):
        raise not_implemented("pdist", self._dtype)
    xp: Any = array_module(self._device.type)
    first, second = xp.triu_indices(rows, 1)
    store(result, quiet.run(_norm, xp, self._array[first] - self._array[second], p))
    return result


def _pdist_backward(grad_output: Tensor, self: Tensor, p: float, pdist: Tensor) -> Tensor:
    """The gradient of the matrix."""
    for name, tensor in (("self", self), ("pdist", pdist)):
        if not tensor._is_contiguous:
            raise RuntimeError(f"_pdist_backward requires {name} to be contiguous")
    result = ops.empty_like.call(self, None, None, None, None, "contiguous_format")
    ops.fill__Scalar.call(result, 0)
    rows = self._size[0]
    if rows > 1 and numel(self._size) and result._array is not None:
        xp: Any = array_module(self._device.type)
        first, second = xp.triu_indices(rows, 1)
        difference = self._array[first] - self._array[second]
        gradients = quiet.run(
            _difference_gradient, xp, difference, grad_output._array[:, None], pdist._array[:, None], p
        )
        square = xp.zeros((rows, rows, self._size[1]), self._dtype.numpy)
        square[first, second], square[second, first] = gradients, -gradients
        store(result, square.sum(1))
    return result
