"""``fftfreq``, ``rfftfreq``, ``fftshift``, ``ifftshift`` (``aten/src/ATen/native/SpectralOps.cpp``)."""

from __future__ import annotations

from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.factories.arange import arange_out
from dispatchviz.core.native.fft.fft_arguments import Dims, wrapped
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Size, Tensor


def fft_fftfreq(
    n: int, d: float, dtype: DType | None, layout: str | None, device: Device | None, pin_memory: bool | None
) -> Tensor:
    """0, 1, ..., -2, -1, divided by n * d."""
    return fft_fftfreq_out(n, d, ops.empty_memory_format.call((n,), dtype, layout, device, pin_memory, None))


def fft_fftfreq_out(n: int, d: float, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_fftfreq``."""
    _check_freq("fftfreq", out)
    ops.arange_out.call(n, out)
    negative = ops.slice_Tensor.call(out, 0, (n + 1) // 2, 0, 1)
    ops.arange_start_out.call(-(n // 2), 0, 1, negative)
    return ops.mul__Scalar.call(out, 1.0 / (n * d))


def fft_rfftfreq(
    n: int, d: float, dtype: DType | None, layout: str | None, device: Device | None, pin_memory: bool | None
) -> Tensor:
    """0, 1, ..., n // 2, divided by n * d."""
    return fft_rfftfreq_out(n, d, ops.empty_memory_format.call((n // 2 + 1,), dtype, layout, device, pin_memory, None))


def fft_rfftfreq_out(n: int, d: float, out: Tensor) -> Tensor:
    """The ``out=`` version of ``fft_rfftfreq``."""
    _check_freq("rfftfreq", out)
    arange_out(n // 2 + 1, out)
    return ops.mul__Scalar.call(out, 1.0 / (n * d))


def _check_freq(name: str, out: Tensor) -> None:
    if not out._dtype.can_require_grad:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")


def fft_fftshift(self: Tensor, dim: Dims) -> Tensor:
    """Shift the first element to the middle."""
    dims = _dims(self, dim)
    return ops.roll.call(self, tuple(self._size[d] // 2 for d in dims), dims)


def fft_ifftshift(self: Tensor, dim: Dims) -> Tensor:
    """Undo ``fftshift``."""
    dims = _dims(self, dim)
    return ops.roll.call(self, tuple((self._size[d] + 1) // 2 for d in dims), dims)


def _dims(self: Tensor, dim: Dims) -> Size:
    return tuple(range(len(self._size))) if dim is None else tuple(wrapped(d, self) for d in dim)
