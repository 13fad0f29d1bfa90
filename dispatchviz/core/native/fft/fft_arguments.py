"""Arguments of all FFTs: promoted dtypes, sizes, dimensions, normalization modes (``SpectralOps.cpp``)."""

from __future__ import annotations

from typing import NamedTuple

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import DType, bfloat16, complex64, default_dtype, float16
from dispatchviz.core.tensor.tensor import Size, Tensor

Dims = Size | None

BY_NONE, BY_ROOT_N, BY_N = 0, 1, 2
"""``fft_norm_mode``: the divisor of the result."""


def promoted(self: Tensor, to_complex: bool) -> Tensor:
    """self with integers converted to the default dtype, and real numbers to complex if requested. Raise
    NotImplementedError for half precision, except bfloat16 on meta.

    NB: PyTorch supports both on CUDA, and float16 on meta; there is no complex32 here.
    """
    dtype = _promoted(self._dtype, to_complex, on_meta=self._device.type == "meta")
    if dtype is self._dtype:
        return self
    return ops.to_dtype.call(self, dtype, False, False, None)


def _promoted(dtype: DType, to_complex: bool, on_meta: bool) -> DType:
    if dtype.is_complex:
        return dtype
    if not dtype.is_floating_point:
        dtype = default_dtype()
    if dtype is float16 or (dtype is bfloat16 and not on_meta):
        raise NotImplementedError(f"Unsupported dtype {dtype.legacy}")
    return complex_of(dtype) if to_complex else dtype


def complex_of(dtype: DType) -> DType:
    """The dtype of a transform's complex numbers: complex64 for bfloat16, whose own complex dtype no transform has."""
    return complex64 if dtype is bfloat16 else dtype.to_complex()


def norm_from_string(norm: str | None, forward: bool) -> int:
    """The number of the mode. Raise RuntimeError for an unknown name."""
    if norm in (None, "backward"):
        return BY_NONE if forward else BY_N
    if norm == "forward":
        return BY_N if forward else BY_NONE
    if norm == "ortho":
        return BY_ROOT_N
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


def check_points(n: int) -> None:
    """Raise RuntimeError for a transform of no points."""
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")


def wrapped(dim: int, self: Tensor) -> int:
    """A dimension counted from 0. Raise IndexError for a 0-dim tensor."""
    if not self._size:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, len(self._size))


def resize_fft_input(self: Tensor, dims: Size, sizes: Size) -> Tensor:
    """The tensor, cut or padded with zeros to the given sizes."""
    rank, lengths = len(self._size), self._size
    padding = [0] * 2 * rank
    for dim, size in zip(dims, sizes, strict=True):
        if lengths[dim] < size:
            padding[2 * (rank - dim) - 1] = size - lengths[dim]
        elif lengths[dim] > size:
            self = ops.slice_Tensor.call(self, dim, 0, size, 1)
    return ops.constant_pad_nd.call(self, tuple(padding), 0) if any(padding) else self


class ShapeAndDims(NamedTuple):
    """The number of points along each transformed dimension."""

    shape: Size
    dim: Size


def shape_and_dims(self: Tensor, shape: Dims, dim: Dims) -> ShapeAndDims:
    """The points and dimensions, by default all. Raise RuntimeError if they do not fit."""
    rank = len(self._size)
    dims = None if dim is None else tuple(wrapped(d, self) for d in dim)
    if dims is not None and len(set(dims)) < len(dims):
        raise RuntimeError("FFT dims must be unique")
    if shape is None:
        dims = tuple(range(rank)) if dims is None else dims
        points = tuple(self._size[d] for d in dims)
    else:
        dims = _dims_of_shape(rank, shape, dims)
        points = tuple(self._size[d] if n == -1 else n for n, d in zip(shape, dims, strict=True))
    for n in points:
        check_points(n)
    return ShapeAndDims(points, dims)


def _dims_of_shape(rank: int, shape: Size, dims: Size | None) -> Size:
    """The given dimensions, by default the last ones."""
    if dims is not None and len(dims) != len(shape):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    if len(shape) > rank:
        raise RuntimeError(f"Got shape with {len(shape)} values but input tensor only has {rank} dimensions.")
    return tuple(range(rank - len(shape), rank)) if dims is None else dims


def check_real(name: str, self: Tensor) -> None:
    """Raise TypeError for complex numbers."""
    if self._dtype.is_complex:
        raise TypeError(f"{name} expects a real input tensor, but got {self._dtype.legacy}")


def check_complex_out(name: str, out: Tensor | None) -> None:
    """Raise RuntimeError if ``out`` is not complex."""
    if out is not None and not out._dtype.is_complex:
        raise RuntimeError(f"{name} expects a complex output tensor, but got {out._dtype.legacy}")


def check_real_out(name: str, out: Tensor | None) -> None:
    """Raise RuntimeError if ``out`` is not floating."""
    if out is not None and not out._dtype.is_floating_point:
        raise RuntimeError(f"{name} expects a floating point output tensor, but got {out._dtype.legacy}")


# -- calls of the kernels ----------------------------------------------------------------------------------------------


def r2c(name: str, out: Tensor | None, self: Tensor, dim: Size, norm: int, onesided: bool) -> Tensor:
    """Call ``_fft_r2c`` or its ``out=`` version (``fft_r2c_maybe_out``)."""
    if out is None:
        return ops._fft_r2c.call(self, dim, norm, onesided)
    check_complex_out(name, out)
    return ops._fft_r2c_out.call(self, dim, norm, onesided, out)


def c2r(name: str, out: Tensor | None, self: Tensor, dim: Size, norm: int, last_dim_size: int) -> Tensor:
    """Call ``_fft_c2r`` or its ``out=`` version (``fft_c2r_maybe_out``)."""
    if out is None:
        return ops._fft_c2r.call(self, dim, norm, last_dim_size)
    check_real_out(name, out)
    return ops._fft_c2r_out.call(self, dim, norm, last_dim_size, out)


def c2c(name: str, out: Tensor | None, self: Tensor, dim: Size, norm: int, forward: bool) -> Tensor:
    """Call ``_fft_c2c`` or its ``out=`` version (``fft_c2c_maybe_out``)."""
    if out is None:
        return ops._fft_c2c.call(self, dim, norm, forward)
    check_complex_out(name, out)
    return ops._fft_c2c_out.call(self, dim, norm, forward, out)
