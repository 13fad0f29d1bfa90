"""One-dimensional FFTs: ``fft``, ``ifft``, ``rfft``, ``irfft``, ``hfft``, ``ihfft``
(``aten/src/ATen/native/SpectralOps.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.fft.fft_arguments import (
    c2c,
    c2r,
    check_complex_out,
    check_points,
    check_real,
    check_real_out,
    norm_from_string,
    promoted,
    r2c,
    resize_fft_input,
    wrapped,
)
from dispatchviz.core.tensor.tensor import Tensor


def fft_fft_symint(self: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    """The spectrum of a signal."""
    return _full("fft", None, self, n, dim, norm, forward=True)


def fft_fft_symint_out(self: Tensor, n: int | None, dim: int, norm: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_fft``."""
    _full("fft", out, self, n, dim, norm, forward=True)
    return out


def fft_ifft_symint(self: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    """The signal of a spectrum."""
    return _full("ifft", None, self, n, dim, norm, forward=False)


def fft_ifft_symint_out(self: Tensor, n: int | None, dim: int, norm: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_ifft``."""
    _full("ifft", out, self, n, dim, norm, forward=False)
    return out


def fft_rfft_symint(self: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    """The first half of the spectrum of real numbers, which determines the rest."""
    return _from_real("rfft", None, self, n, dim, norm, forward=True, onesided=True)


def fft_rfft_symint_out(self: Tensor, n: int | None, dim: int, norm: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_rfft``."""
    _from_real("rfft", out, self, n, dim, norm, forward=True, onesided=True)
    return out


def fft_irfft_symint(self: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    """The real signal of a one-sided spectrum."""
    return _to_real("irfft", None, self, n, dim, norm, forward=False)


def fft_irfft_symint_out(self: Tensor, n: int | None, dim: int, norm: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_irfft``."""
    _to_real("irfft", out, self, n, dim, norm, forward=False)
    return out


def fft_hfft_symint(self: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    """The real spectrum of one half of a Hermitian signal."""
    return _to_real("hfft", None, self, n, dim, norm, forward=True)


def fft_hfft_symint_out(self: Tensor, n: int | None, dim: int, norm: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_hfft``."""
    _to_real("hfft", out, self, n, dim, norm, forward=True)
    return out


def fft_ihfft_symint(self: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    """One half of the Hermitian signal of a real spectrum."""
    return _from_real("ihfft", None, self, n, dim, norm, forward=False, onesided=True)


def fft_ihfft_symint_out(self: Tensor, n: int | None, dim: int, norm: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_ihfft``."""
    _from_real("ihfft", out, self, n, dim, norm, forward=False, onesided=True)
    return out


# -- real and complex transforms ---------------------------------------------------------------------------------------


def _full(
    name: str, out: Tensor | None, self: Tensor, n: int | None, dim: int, norm: str | None, *, forward: bool
) -> Tensor:
    """The full transform of complex or real numbers."""
    if not self._dtype.is_complex:
        return _from_real(name, out, self, n, dim, norm, forward=forward, onesided=False)
    dim = wrapped(dim, self)
    self = _resized(self, n, dim, self._size[dim])
    return c2c(name, out, self, (dim,), norm_from_string(norm, forward), forward)


def _from_real(
    name: str,
    out: Tensor | None,
    self: Tensor,
    n: int | None,
    dim: int,
    norm: str | None,
    *,
    forward: bool,
    onesided: bool,
) -> Tensor:
    """The transform of real numbers (``fft_r2c``); the inverse is the conjugate."""
    check_real(name, self)
    check_complex_out(name, out)
    self = promoted(self, False)
    dim = wrapped(dim, self)
    self = _resized(self, n, dim, self._size[dim])
    mode = norm_from_string(norm, forward)
    result = r2c(name, out if forward else None, self, (dim,), mode, onesided)
    if forward:
        return result
    return ops._conj.call(result) if out is None else ops.conj_physical_out.call(result, out)


def _to_real(
    name: str, out: Tensor | None, self: Tensor, n: int | None, dim: int, norm: str | None, *, forward: bool
) -> Tensor:
    """The transform to real numbers (``fft_c2r``); the forward transform is that of the conjugate."""
    check_real_out(name, out)
    self = promoted(self, True)
    dim = wrapped(dim, self)
    points = 2 * (self._size[dim] - 1) if n is None else n
    check_points(points)
    if n is not None:
        self = resize_fft_input(self, (dim,), (points // 2 + 1,))
    mode = norm_from_string(norm, forward)
    return c2r(name, out, ops._conj.call(self) if forward else self, (dim,), mode, points)


def _resized(self: Tensor, n: int | None, dim: int, points: int) -> Tensor:
    check_points(points if n is None else n)
    return self if n is None else resize_fft_input(self, (dim,), (n,))
