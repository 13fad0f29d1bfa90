"""FFTs over several dimensions: ``fftn``, ``ifftn``, ``rfftn``, ``hfftn``, ``fft2`` and their like
(``aten/src/ATen/native/SpectralOps.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.fft.fft_arguments import (
    Dims,
    ShapeAndDims,
    c2c,
    c2r,
    check_points,
    norm_from_string,
    promoted,
    r2c,
    resize_fft_input,
    shape_and_dims,
)
from dispatchviz.core.tensor.tensor import Tensor


def fft_fftn_symint(self: Tensor, s: Dims, dim: Dims, norm: str | None) -> Tensor:
    """The spectrum along the given dimensions, by default all."""
    return _fftn(self, s, dim, norm, None)


def fft_fftn_symint_out(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_fftn``."""
    _fftn(self, s, dim, norm, out)
    return out


def fft_ifftn_symint(self: Tensor, s: Dims, dim: Dims, norm: str | None) -> Tensor:
    """The inverse transform along the given dimensions, by default all."""
    return _ifftn(self, s, dim, norm, None)


def fft_ifftn_symint_out(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_ifftn``."""
    _ifftn(self, s, dim, norm, out)
    return out


def fft_rfftn_symint(self: Tensor, s: Dims, dim: Dims, norm: str | None) -> Tensor:
    """The one-sided spectrum of real numbers along the given dimensions, by default all."""
    return _rfftn(self, s, dim, norm, None)


def fft_rfftn_symint_out(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_rfftn``."""
    _rfftn(self, s, dim, norm, out)
    return out


def fft_irfftn_symint(self: Tensor, s: Dims, dim: Dims, norm: str | None) -> Tensor:
    """The real signal of a one-sided spectrum along the given dimensions, by default all."""
    return _irfftn(self, s, dim, norm, None)


def fft_irfftn_symint_out(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_irfftn``."""
    _irfftn(self, s, dim, norm, out)
    return out


def fft_hfftn_symint(self: Tensor, s: Dims, dim: Dims, norm: str | None) -> Tensor:
    """The real spectrum of a Hermitian signal along the given dimensions, by default all."""
    return _hfftn(self, s, dim, norm, None)


def fft_hfftn_symint_out(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_hfftn``."""
    _hfftn(self, s, dim, norm, out)
    return out


def fft_ihfftn_symint(self: Tensor, s: Dims, dim: Dims, norm: str | None) -> Tensor:
    """One half of the Hermitian signal of a real spectrum along the given dimensions, by default all."""
    return _ihfftn(self, s, dim, norm, None)


def fft_ihfftn_symint_out(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_ihfftn``."""
    _ihfftn(self, s, dim, norm, out)
    return out


def fft_fft2_symint(self: Tensor, s: Dims, dim: Dims, norm: str | None) -> Tensor:
    """The spectrum along two dimensions."""
    return _fftn(self, s, dim, norm, None)


def fft_fft2_symint_out(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_fft2``."""
    _fftn(self, s, dim, norm, out)
    return out


def fft_ifft2_symint(self: Tensor, s: Dims, dim: Dims, norm: str | None) -> Tensor:
    """The inverse transform along two dimensions."""
    return _ifftn(self, s, dim, norm, None)


def fft_ifft2_symint_out(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_ifft2``."""
    _ifftn(self, s, dim, norm, out)
    return out


def fft_rfft2_symint(self: Tensor, s: Dims, dim: Dims, norm: str | None) -> Tensor:
    """The one-sided spectrum of real numbers along two dimensions."""
    return _rfftn(self, s, dim, norm, None)


def fft_rfft2_symint_out(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_rfft2``."""
    _rfftn(self, s, dim, norm, out)
    return out


def fft_irfft2_symint(self: Tensor, s: Dims, dim: Dims, norm: str | None) -> Tensor:
    """The real signal of a one-sided spectrum along two dimensions."""
    return _irfftn(self, s, dim, norm, None)


def fft_irfft2_symint_out(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_irfft2``."""
    _irfftn(self, s, dim, norm, out)
    return out


def fft_hfft2_symint(self: Tensor, s: Dims, dim: Dims, norm: str | None) -> Tensor:
    """The real spectrum of a Hermitian signal along two dimensions."""
    return _hfftn(self, s, dim, norm, None)


def fft_hfft2_symint_out(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_hfft2``."""
    _hfftn(self, s, dim, norm, out)
    return out


def fft_ihfft2_symint(self: Tensor, s: Dims, dim: Dims, norm: str | None) -> Tensor:
    """One half of the Hermitian signal of a real spectrum along two dimensions."""
    return _ihfftn(self, s, dim, norm, None)


def fft_ihfft2_symint_out(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_ihfft2``."""
    _ihfftn(self, s, dim, norm, out)
    return out


# -- real and complex transforms ---------------------------------------------------------------------------------------


def _fftn(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor | None) -> Tensor:
    return _full(self, s, dim, norm, out, forward=True)


def _ifftn(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor | None) -> Tensor:
    return _full(self, s, dim, norm, out, forward=False)


def _full(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor | None, *, forward: bool) -> Tensor:
    wanted = shape_and_dims(self, s, dim)
    points = resize_fft_input(promoted(self, True), wanted.dim, wanted.shape)
    return c2c("fftn", out, points, wanted.dim, norm_from_string(norm, forward), forward)


def _rfftn(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor | None) -> Tensor:
    if self._dtype.is_complex:
        raise RuntimeError(f"rfftn expects a real-valued input tensor, but got {self._dtype.legacy}")
    wanted = _some("rfftn", shape_and_dims(self, s, dim))
    points = resize_fft_input(promoted(self, False), wanted.dim, wanted.shape)
    return r2c("rfftn", out, points, wanted.dim, norm_from_string(norm, True), True)


def _irfftn(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor | None) -> Tensor:
    wanted, last = _half_shape("irfftn", self, s, dim)
    points = resize_fft_input(promoted(self, True), wanted.dim, wanted.shape)
    return c2r("irfftn", out, points, wanted.dim, norm_from_string(norm, False), last)


def _hfftn(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor | None) -> Tensor:
    """Transform all dimensions but the last as complex numbers, then the last to real numbers."""
    wanted, last = _half_shape("hfftn", self, s, dim)
    points = resize_fft_input(promoted(self, True), wanted.dim, wanted.shape)
    mode = norm_from_string(norm, True)
    if len(wanted.dim) > 1:
        points = ops._fft_c2c.call(points, wanted.dim[:-1], mode, True)
    return c2r("hfftn", out, ops._conj.call(points), wanted.dim[-1:], mode, last)


def _ihfftn(self: Tensor, s: Dims, dim: Dims, norm: str | None, out: Tensor | None) -> Tensor:
    """Transform the last dimension as real numbers, the others as complex numbers.

    With one dimension PyTorch passes ``out`` as the input of the call, so ``out`` keeps its old contents.
    """
    wanted = _some("ihfftn", shape_and_dims(self, s, dim))
    points = resize_fft_input(promoted(self, False), wanted.dim, wanted.shape)
    mode = norm_from_string(norm, False)
    half = ops._fft_r2c.call(points, wanted.dim[-1:], mode, True)
    if len(wanted.dim) == 1:
        return ops._conj.call(half) if out is None else ops.conj_physical_out.call(out, half)
    return c2c("ihfftn", out, ops.conj_physical.call(half), wanted.dim[:-1], mode, False)


def _some(name: str, wanted: ShapeAndDims) -> ShapeAndDims:
    if not wanted.shape:
        raise RuntimeError(f"{name} must transform at least one axis")
    return wanted


def _half_shape(name: str, self: Tensor, s: Dims, dim: Dims) -> tuple[ShapeAndDims, int]:
    """The points to use, half of them in the last dimension, and the number of points in the last dimension of the
    result.
    """
    wanted = _some(name, shape_and_dims(self, s, dim))
    last = wanted.shape[-1]
    if s is None or s[-1] == -1:
        last = 2 * (self._size[wanted.dim[-1]] - 1)
    check_points(last)
    return ShapeAndDims((*wanted.shape[:-1], last // 2 + 1), wanted.dim), last
