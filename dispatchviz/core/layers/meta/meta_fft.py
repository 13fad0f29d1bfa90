"""Python meta kernels of FFTs (``torch/_meta_registrations.py``).

They lay out results as cuFFT's kernels do: for a meta tensor alone, ``device_hint`` returns ``cuda``.

NB: one ``empty_strided`` per result. PyTorch's Python functions resize and restride it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.fft.fft_arguments import complex_of
from dispatchviz.core.tensor.dtype import DType, real_type
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides

MOST = 3
"""The number of dimensions that are transformed at once (``cufft_max_ndim``)."""


def fft_c2c(ks: int, self: Tensor, dim: Size, normalization: int, forward: bool) -> Tensor:
    """Transform complex to complex. Raise RuntimeError for real numbers."""
    _check(self._dtype.is_complex)
    if not dim:
        return ops.clone.call(self, None)
    return _blank(self, self._size, _in_stages(self._size, self._stride, dim), self._dtype)


def fft_r2c(ks: int, self: Tensor, dim: Size, normalization: int, onesided: bool) -> Tensor:
    """Transform real to complex. Raise RuntimeError for complex numbers."""
    _check(self._dtype.is_floating_point)
    half = _with(self._size, dim[-1], self._size[dim[-1]] // 2 + 1)
    size = half if onesided else self._size
    if _is_optimized(dim):
        strides = _transformed(size, self._stride, dim)
    elif len(dim) > 1 and not onesided and half != size:
        strides = contiguous_strides(size)
    else:
        first = _transformed(size if len(dim) == 1 else half, self._stride, dim[-1:])
        strides = _in_stages(half, first, dim[:-1])
    return _blank(self, size, strides, complex_of(self._dtype))


def fft_c2r(ks: int, self: Tensor, dim: Size, normalization: int, last_dim_size: int) -> Tensor:
    """Transform complex to real. Raise RuntimeError for real numbers."""
    _check(self._dtype.is_complex)
    size = _with(self._size, dim[-1], last_dim_size)
    if _is_optimized(dim):
        strides = _transformed(size, contiguous_strides(self._size), dim)
    else:
        before = _in_stages(self._size, self._stride, dim[:-1]) if len(dim) > 1 else contiguous_strides(self._size)
        strides = _transformed(size, before, dim[-1:])
    return _blank(self, size, strides, real_type(self._dtype))


def _check(condition: bool) -> None:
    if not condition:
        raise RuntimeError(
            "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
            "enhancement request to PyTorch.)"
        )


def _blank(like: Tensor, size: Size, strides: Size, dtype: DType) -> Tensor:
    return ops.empty_strided.call(size, strides, dtype, "strided", like._device, None)


def _with(size: Size, dim: int, length: int) -> Size:
    return (*size[:dim], length, *size[dim + 1 :])


def _is_optimized(dim: Size) -> bool:
    """Return whether cuFFT's fast path is used (``use_optimized_cufft_path``)."""
    return len(dim) <= MOST and dim[:2] != (0, 1)


def _in_stages(size: Size, strides: Size, dim: Size) -> Size:
    """The strides after all dimensions are transformed, those with the smallest strides first."""
    left = list(dim)
    while left:
        left.sort(key=lambda one: strides[one], reverse=True)
        strides = _transformed(size, strides, tuple(left[-MOST:]))
        del left[-MOST:]
    return strides


def _transformed(size: Size, strides: Size, dim: Size) -> Size:
    """The strides of the result of a transform, for its sizes and the strides of its input (``_exec_fft``)."""
    batch = sorted((one for one in range(len(size)) if one not in dim), key=lambda one: strides[one], reverse=True)
    inner = contiguous_strides((1, *(size[one] for one in dim)))
    found = dict(zip(dim, inner[1:], strict=True))
    step = inner[0]
    for one in reversed(batch):
        found[one] = step
        step *= size[one]
    return tuple(found[one] for one in range(len(size)))


KERNELS: dict[str, Callable[..., Any]] = {"_fft_c2c": fft_c2c, "_fft_r2c": fft_r2c, "_fft_c2r": fft_c2r}
"""The kernels by operator, without ``aten::``."""
