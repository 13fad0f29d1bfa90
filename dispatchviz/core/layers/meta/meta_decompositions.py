"""Python meta kernels of ``linalg.eig``, ``linalg.svd``, ``cummax``, ``logcumsumexp``
(``torch/_meta_registrations.py``).

They lay out results as CUDA's kernels do: for a meta tensor alone, ``device_hint`` returns ``cuda``.

NB: one ``empty`` per result. PyTorch's Python functions call more operators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.native.linalg.matrix_checks import (
    check_floating_or_complex,
    check_is_matrix,
    column_major_strides,
    square_check_inputs,
)
from dispatchviz.core.tensor.dtype import DType, int64, real_type
from dispatchviz.core.tensor.tensor import Size, Tensor


def _blank(like: Tensor, size: Size, dtype: DType | None = None) -> Tensor:
    return ops.empty_memory_format.call(size, dtype or like._dtype, "strided", like._device, None, None)


def linalg_eig(ks: int, input: Tensor) -> tuple[Tensor, Tensor]:
    """Return complex values and vectors."""
    square_check_inputs(input, "linalg.eig")
    dtype = input._dtype if input._dtype.is_complex else input._dtype.to_complex()
    return _blank(input, input._size[:-1], dtype), _blank(input, input._size, dtype)


def linalg_svd(
    ks: int, A: Tensor, full_matrices: bool, compute_uv: bool, driver: str | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return U, column-major, S, and Vh. U and Vh have size [0] if they are not requested."""
    check_is_matrix(A, "linalg.svd")
    check_floating_or_complex(A, "linalg.svd")
    *batch, m, n = A._size
    k = min(m, n)
    singular = (*batch, k)
    if not compute_uv:
        return _blank(A, (0,)), _blank(A, singular, real_type(A._dtype)), _blank(A, (0,))
    u_size, v_size = (*batch, m, m if full_matrices else k), (*batch, n if full_matrices else k, n)
    U = ops.empty_strided.call(u_size, column_major_strides(u_size), A._dtype, "strided", A._device, None)
    return U, _blank(A, singular, real_type(A._dtype)), _blank(A, v_size)


def cummaxmin(ks: int, self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return the contiguous results of ``cummax`` and ``cummin``. Raise IndexError for a dimension that does not exist,
    unless there is no element.
    """
    found = _blank(self, self._size), _blank(self, self._size, int64)
    if self._size and 0 not in self._size:
        wrap_dim(dim, len(self._size))
    return found


def logcumsumexp(ks: int, self: Tensor, dim: int) -> Tensor:
    """Return a contiguous result. Raise IndexError for a dimension that does not exist."""
    wrap_dim(dim, len(self._size))
    return ops.empty_like.call(self, None, None, None, None, "contiguous_format")


KERNELS: dict[str, Callable[..., Any]] = {
    "linalg_eig": linalg_eig,
    "_linalg_svd": linalg_svd,
    "cummax": cummaxmin,
    "cummin": cummaxmin,
    "logcumsumexp": logcumsumexp,
}
"""The kernels by operator, without ``aten::``."""
