"""``trapezoid``, ``trapz``, ``cumulative_trapezoid`` (``aten/src/ATen/native/Integration.cpp``).

C++ evaluates the operands of an operator from right to left. Lines are in that order here.
"""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import bool_
from dispatchviz.core.tensor.tensor import Tensor


def trapezoid_x(y: Tensor, x: Tensor, dim: int) -> Tensor:
    """The integral over the points x. Raise RuntimeError for bool, or if x does not fit y."""
    dim = wrap_dim(dim, len(y._size))
    if y._size[dim] == 0:
        return _zeros_without(y, dim)
    _check_tensors("trapezoid", x, y)
    widths = _widths("trapezoid", x, y, dim)
    areas = ops.mul_Tensor.call(_pairs(y, dim), widths)
    return ops.div_Scalar.call(ops.sum_dim_IntList.call(areas, (dim,), False, None), 2.0)


def trapezoid_dx(y: Tensor, dx: Scalar, dim: int) -> Tensor:
    """The integral over points with the distance dx."""
    if y._size[wrap_dim(dim, len(y._size))] == 0:
        return _zeros_without(y, dim)
    _check_step("trapezoid", y, dx)
    last = ops.select_int.call(y, dim, -1)
    first = ops.select_int.call(y, dim, 0)
    ends = ops.mul_Scalar.call(ops.add_Tensor.call(first, last, 1), 0.5)
    total = ops.sub_Tensor.call(ops.sum_dim_IntList.call(y, (dim,), False, None), ends, 1)
    return ops.mul_Scalar.call(total, float(dx))  # type: ignore[arg-type]


def trapz_x(y: Tensor, x: Tensor, dim: int) -> Tensor:
    """An alias of ``trapezoid``."""
    return trapezoid_x(y, x, dim)


def trapz_dx(y: Tensor, dx: float, dim: int) -> Tensor:
    """An alias of ``trapezoid``."""
    return trapezoid_dx(y, dx, dim)


def cumulative_trapezoid_x(y: Tensor, x: Tensor, dim: int) -> Tensor:
    """The cumulative integral over the points x."""
    dim = wrap_dim(dim, len(y._size))
    _check_tensors("cumulative_trapezoid", x, y)
    widths = _widths("cumulative_trapezoid", x, y, dim)
    areas = ops.mul_Tensor.call(_pairs(y, dim), widths)
    return ops.div_Scalar.call(ops.cumsum.call(areas, dim, None), 2.0)


def cumulative_trapezoid_dx(y: Tensor, dx: Scalar, dim: int) -> Tensor:
    """The cumulative integral over points with the distance dx."""
    _check_step("cumulative_trapezoid", y, dx)
    areas = ops.mul_Scalar.call(_pairs(y, dim), float(dx) / 2.0)  # type: ignore[arg-type]
    return ops.cumsum.call(areas, dim, None)


def _pairs(y: Tensor, dim: int) -> Tensor:
    """The sum of each two neighbors."""
    before = ops.slice_Tensor.call(y, dim, 0, -1, 1)
    after = ops.slice_Tensor.call(y, dim, 1, None, 1)
    return ops.add_Tensor.call(before, after, 1)


def _widths(name: str, x: Tensor, y: Tensor, dim: int) -> Tensor:
    rank = len(y._size)
    if len(x._size) == 1:
        if x._size[0] != y._size[dim]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = ops.view.call(x, tuple(x._size[0] if at == dim else 1 for at in range(rank)))
    elif len(x._size) < rank:
        x = ops.view.call(x, (*[1] * (rank - len(x._size)), *x._size))
    left = ops.slice_Tensor.call(x, dim, 0, -1, 1)
    right = ops.slice_Tensor.call(x, dim, 1, None, 1)
    return ops.sub_Tensor.call(right, left, 1)


def _zeros_without(y: Tensor, dim: int) -> Tensor:
    dim = wrap_dim(dim, len(y._size))
    size = (*y._size[:dim], *y._size[dim + 1 :])
    return ops.zeros.call(size, y._dtype, "strided", y._device, None)


def _check_tensors(name: str, x: Tensor, y: Tensor) -> None:
    if bool_ in (x._dtype, y._dtype):
        raise RuntimeError(f"{name}: received a bool input for `x` or `y`, but bool is not supported")


def _check_step(name: str, y: Tensor, dx: Scalar) -> None:
    if y._dtype is bool_:
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")
    if isinstance(dx, (bool, complex)):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
