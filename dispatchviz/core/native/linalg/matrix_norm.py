"""``linalg.matrix_norm``, ``linalg.norm``, ``frobenius_norm``, ``nuclear_norm`` (``LinearAlgebra.cpp``)."""

from __future__ import annotations

import math

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.native.linalg.cholesky import copied
from dispatchviz.core.native.linalg.matrix_checks import check_floating_or_complex, check_is_matrix, check_same_device
from dispatchviz.core.tensor.dtype import DType, promote_types
from dispatchviz.core.tensor.tensor import Size, Tensor
from dispatchviz.core.thread.warning import warn_python_once

# -- matrix_norm -------------------------------------------------------------------------------------------------------


def linalg_matrix_norm(self: Tensor, ord: Scalar, dim: Size, keepdim: bool, dtype: DType | None) -> Tensor:
    """The matrix norm of a numeric order: 2 and -2 use singular values; 1, -1, inf and -inf use sums of columns or
    rows.
    """
    if isinstance(ord, complex):
        raise RuntimeError("linalg.matrix_norm: Expected a non-complex scalar as the order of norm.")
    size = abs(float(ord))
    if size not in (1.0, 2.0, math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {_number(ord)} not supported.")
    dims = _checked_dims(self, dim, dtype, size != 2.0)
    if size == 2.0:
        values = ops.linalg_svdvals.call(_matrices_last(self, dims, dtype), None)
        return _unmoved(_amin_or_amax(values, -1, keepdim, ord), dims, len(self._size), keepdim)
    first, second = reversed(dims) if size == math.inf else dims
    second = second - 1 if not keepdim and first < second else second
    sums = ops.linalg_vector_norm.call(self, 1.0, (first,), keepdim, dtype)
    return _amin_or_amax(sums, second, keepdim, ord)


def _number(ord: Scalar) -> str:
    return f"{float(ord):g}"  # type: ignore[arg-type]


def _amin_or_amax(values: Tensor, dim: int, keepdim: bool, ord: Scalar) -> Tensor:
    """The maximum or minimum of the values. The maximum of no values is 0."""
    if float(ord) < 0:  # type: ignore[arg-type]
        return ops.amin.call(values, (dim,), keepdim)
    if values._size[dim]:
        return ops.amax.call(values, (dim,), keepdim)
    size = list(values._size)
    size[dim : dim % len(size) + 1] = [1] if keepdim else []
    return ops.zeros.call(tuple(size), values._dtype, "strided", values._device, None)


def linalg_matrix_norm_str_ord(self: Tensor, ord: str, dim: Size, keepdim: bool, dtype: DType | None) -> Tensor:
    """The matrix norm ``fro``, of all elements, or ``nuc``, the sum of the singular values."""
    if ord not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    dims = _checked_dims(self, dim, dtype, ord != "nuc")
    if ord == "fro":
        return ops.linalg_vector_norm.call(self, 2, dims, keepdim, dtype)
    values = ops.linalg_svdvals.call(_matrices_last(self, dims, dtype), None)
    total = ops.sum_dim_IntList.call(values, (-1,), keepdim, None)
    return _unmoved(total, dims, len(self._size), keepdim)


def _checked_dims(self: Tensor, dim: Size, dtype: DType | None, low_precision: bool) -> tuple[int, int]:
    function = "linalg.matrix_norm"
    check_is_matrix(self, function)
    check_floating_or_complex(self, function, low_precision)
    if len(dim) != 2:
        raise RuntimeError(f"{function}: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    first, second = (wrap_dim(one, len(self._size)) for one in dim)
    if first == second:
        raise RuntimeError(f"{function}: dims must be different. Got ({first}, {second})")
    if dtype is not None:
        _check_norm_dtype(function, dtype, self._dtype)
    return first, second


def _check_norm_dtype(function: str, dtype: DType, own: DType) -> None:
    if not dtype.can_require_grad:
        raise RuntimeError(f"{function}: dtype shouldbe floating point or complex, but got {dtype.legacy}")
    if own.is_complex != dtype.is_complex:
        kind = "complex" if own.is_complex else "real"
        raise RuntimeError(f"{function}: dtype should be {kind} for {kind} inputs, but got {dtype.legacy}")
    if promote_types(own, dtype) is not dtype:
        raise RuntimeError(
            f"{function}: the dtype of the input ({own.legacy}) should be convertible without narrowing to the "
            f"specified dtype ({dtype.legacy})"
        )


def _backshift(dims: tuple[int, int], rank: int) -> Size:
    """The order of dimensions with the given two at the end."""
    return (*(dim for dim in range(rank) if dim not in dims), *dims)


def _matrices_last(self: Tensor, dims: tuple[int, int], dtype: DType | None) -> Tensor:
    matrix = self if dtype is None else ops.to_dtype.call(self, dtype, False, False, None)
    return ops.permute.call(matrix, _backshift(dims, len(self._size)))


def _unmoved(result: Tensor, dims: tuple[int, int], rank: int, keepdim: bool) -> Tensor:
    """The result with its dimensions moved back."""
    if not keepdim:
        return result
    back = [0] * rank
    for index, dim in enumerate(_backshift(dims, rank)):
        back[dim] = index
    return ops.permute.call(ops.unsqueeze.call(result, -1), tuple(back))


def linalg_matrix_norm_out(
    self: Tensor, ord: Scalar, dim: Size, keepdim: bool, dtype: DType | None, out: Tensor
) -> Tensor:
    """The ``out=`` version of ``linalg_matrix_norm``, which copies the result."""
    check_same_device("linalg.matrix_norm", self, out)
    return _into(out, ops.linalg_matrix_norm.call(self, ord, dim, keepdim, dtype), "linalg.matrix_norm")


def linalg_matrix_norm_str_ord_out(
    self: Tensor, ord: str, dim: Size, keepdim: bool, dtype: DType | None, out: Tensor
) -> Tensor:
    """The ``out=`` version of ``linalg_matrix_norm``, which copies the result."""
    check_same_device("linalg.matrix_norm", self, out)
    return _into(out, ops.linalg_matrix_norm_str_ord.call(self, ord, dim, keepdim, dtype), "linalg.matrix_norm")


def _into(out: Tensor, result: Tensor, function: str) -> Tensor:
    if out._dtype is not result._dtype:
        raise RuntimeError(f"{function} expected out tensor dtype {result._dtype.legacy} but got: {out._dtype.legacy}")
    return copied(out, result)


# -- norm --------------------------------------------------------------------------------------------------------------


def linalg_norm(self: Tensor, ord: Scalar | None, dim: Size | None, keepdim: bool, dtype: DType | None) -> Tensor:
    """A matrix norm if an order is given and there are two dimensions, else a vector norm."""
    _check_norm_dims(self, dim, ord is not None)
    if ord is not None and (len(dim) == 2 if dim is not None else len(self._size) == 2):
        return ops.linalg_matrix_norm.call(self, ord, (0, 1) if dim is None else tuple(dim), keepdim, dtype)
    return ops.linalg_vector_norm.call(self, 2.0 if ord is None else ord, dim, keepdim, dtype)


def linalg_norm_ord_str(self: Tensor, ord: str, dim: Size | None, keepdim: bool, dtype: DType | None) -> Tensor:
    """The Frobenius or the nuclear norm."""
    _check_norm_dims(self, dim, True)
    return ops.linalg_matrix_norm_str_ord.call(self, ord, (0, 1) if dim is None else tuple(dim), keepdim, dtype)


def _check_norm_dims(self: Tensor, dim: Size | None, ordered: bool) -> None:
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got [{', '.join(map(str, dim))}]"
        )
    if dim is None and ordered and len(self._size) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {len(self._size)}D."
        )


def linalg_norm_out(
    self: Tensor, ord: Scalar | None, dim: Size | None, keepdim: bool, dtype: DType | None, out: Tensor
) -> Tensor:
    """The ``out=`` version of ``linalg_norm``, which copies the result."""
    check_same_device("linalg.norm", self, out)
    return _into(out, ops.linalg_norm.call(self, ord, dim, keepdim, dtype), "linalg.norm")


def linalg_norm_ord_str_out(
    self: Tensor, ord: str, dim: Size | None, keepdim: bool, dtype: DType | None, out: Tensor
) -> Tensor:
    """The ``out=`` version of ``linalg_norm``, which copies the result."""
    check_same_device("linalg.norm", self, out)
    return _into(out, ops.linalg_norm_ord_str.call(self, ord, dim, keepdim, dtype), "linalg.norm")


# -- old names ---------------------------------------------------------------------------------------------------------


def frobenius_norm(self: Tensor, dim: Size, keepdim: bool) -> Tensor:
    """The Frobenius norm, computed by ``norm``."""
    _warn_old("frobenius", "linalg.vector_norm(A, 2., dim, keepdim)", 3175)
    _check_two(dim)
    return ops.norm_ScalarOpt_dim.call(self, 2.0, dim, keepdim)


def frobenius_norm_out(self: Tensor, dim: Size, keepdim: bool, out: Tensor) -> Tensor:
    """The ``out=`` version of ``frobenius_norm``."""
    _warn_old("frobenius", "linalg.vector_norm(A, 2., dim, keepdim)", 3195)
    _check_two(dim)
    return ops.norm_out.call(self, 2.0, dim, keepdim, out)


def _check_two(dim: Size) -> None:
    if len(dim) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dim)} dimensions instead.")


def nuclear_norm(self: Tensor, keepdim: bool) -> Tensor:
    """The nuclear norm of the last two dimensions."""
    return nuclear_norm_dim(self, (-2, -1), keepdim)


def nuclear_norm_out(self: Tensor, keepdim: bool, out: Tensor) -> Tensor:
    """The ``out=`` version of ``nuclear_norm``."""
    _warn_old("nuclear", "linalg.matrix_norm(A, 'nuc', dim, keepdim)", 3217)
    return ops.linalg_matrix_norm_str_ord_out.call(self, "nuc", (-2, -1), keepdim, None, out)


def nuclear_norm_dim(self: Tensor, dim: Size, keepdim: bool) -> Tensor:
    """The nuclear norm, computed by ``linalg.matrix_norm``."""
    _warn_old("nuclear", "linalg.matrix_norm(A, 'nuc', dim, keepdim)", 3229)
    return ops.linalg_matrix_norm_str_ord.call(self, "nuc", dim, keepdim, None)


def nuclear_norm_dim_out(self: Tensor, dim: Size, keepdim: bool, out: Tensor) -> Tensor:
    """The ``out=`` version of ``nuclear_norm_dim``."""
    _warn_old("nuclear", "linalg.matrix_norm(A, 'nuc', dim, keepdim)", 3241)
    return ops.linalg_matrix_norm_str_ord_out.call(self, "nuc", dim, keepdim, None, out)


def _warn_old(name: str, instead: str, line: int) -> None:
    warn_python_once(
        f"{name}_norm {line}",
        f"at::{name}_norm is deprecated and it is just left for JIT compatibility. It will be removed in a future "
        f"PyTorch release. Please use `{instead}` instead",
        f"aten/src/ATen/native/LinearAlgebra.cpp:{line}",
    )
