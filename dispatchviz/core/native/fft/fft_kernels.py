"""FFT kernels: ``_fft_c2c``, ``_fft_r2c``, ``_fft_c2r`` (``aten/src/ATen/native/mkl/SpectralOps.cpp``).

NB: NumPy or CuPy computes in double precision, where PyTorch uses MKL or cuFFT, so last digits may differ. On CUDA the
steps are those of the CPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dispatchviz.core.call.structured import resize_in_order
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.fft.fft_arguments import BY_N, BY_NONE, BY_ROOT_N
from dispatchviz.core.native.iterator.tensor_iterator import quiet, store
from dispatchviz.core.tensor.dtype import real_type
from dispatchviz.core.tensor.tensor import Size, Tensor, numel

# -- complex to complex ------------------------------------------------------------------------------------------------


def _fft_c2c_mkl(self: Tensor, dim: Size, normalization: int, forward: bool) -> Tensor:
    """The complex transform along some dimensions."""
    _check(self._dtype.is_complex, "self.is_complex()")
    if not dim:
        return ops.clone.call(self, None)
    out = ops.empty_memory_format.call(self._size, self._dtype, "strided", self._device, None, None)

    def transform(xp: Any, values: Any, axes: Size) -> Any:
        return (xp.fft.fftn if forward else xp.fft.ifftn)(values, axes=axes, norm=_NORMS[normalization, forward])

    return _exec_fft(out, self, self._size, _sorted_dims(self, dim), transform)


def _fft_c2c_mkl_out(self: Tensor, dim: Size, normalization: int, forward: bool, out: Tensor) -> Tensor:
    """The ``out=`` version of ``_fft_c2c``."""
    return _into(out, _fft_c2c_mkl(self, dim, normalization, forward))


def _fft_c2c_cufft(self: Tensor, dim: Size, normalization: int, forward: bool) -> Tensor:
    """The complex transform, as on the CPU."""
    return _fft_c2c_mkl(self, dim, normalization, forward)


def _fft_c2c_cufft_out(self: Tensor, dim: Size, normalization: int, forward: bool, out: Tensor) -> Tensor:
    """The ``out=`` version of ``_fft_c2c``."""
    return _fft_c2c_mkl_out(self, dim, normalization, forward, out)


# -- real to complex ---------------------------------------------------------------------------------------------------


def _fft_r2c_mkl(self: Tensor, dim: Size, normalization: int, onesided: bool) -> Tensor:
    """The transform of real numbers.

    ``onesided`` keeps half of the last dimension; otherwise the other half follows by symmetry.
    """
    _check(self._dtype.is_floating_point, "self.is_floating_point()")
    last, size = dim[-1], list(self._size)
    if onesided:
        size[last] = size[last] // 2 + 1
    order = (*_sorted_dims(self, dim[:-1]), last)
    out = ops.empty_memory_format.call(tuple(size), self._dtype.to_complex(), "strided", self._device, None, None)

    def transform(xp: Any, values: Any, axes: Size) -> Any:
        half = xp.fft.rfftn(values, axes=axes, norm=_NORMS[normalization, True])
        return half if onesided else _with_conjugate_symmetry(xp, half, axes, self._size[last])

    return _exec_fft(out, self, tuple(size), order, transform)


def _fft_r2c_mkl_out(self: Tensor, dim: Size, normalization: int, onesided: bool, out: Tensor) -> Tensor:
    """Write ``_fft_r2c`` into ``out``; the other half is written by symmetry."""
    result = _fft_r2c_mkl(self, dim, normalization, True)
    if onesided:
        return _into(out, result)
    resize_in_order(out, self._size)
    half = ops.slice_Tensor.call(out, dim[-1], 0, result._size[dim[-1]], 1)
    ops.copy_.call(half, result, False)
    if out._array is not None and numel(out._size):
        xp = array_module(out._device.type)
        store(out, _with_conjugate_symmetry(xp, half._array, tuple(dim), self._size[dim[-1]]))
    return out


def _with_conjugate_symmetry(xp: Any, half: Any, axes: Size, points: int) -> Any:
    """Append the conjugates of a one-sided spectrum (``_fft_fill_with_conjugate_symmetry_``)."""
    last = axes[-1]
    rest = xp.take(half, xp.arange((points - 1) // 2, 0, -1), axis=last)
    for axis in axes[:-1]:
        count = half.shape[axis]
        rest = xp.take(rest, -xp.arange(count) % count, axis=axis)
    return xp.concatenate([half, xp.conj(rest)], axis=last)


def _fft_r2c_cufft(self: Tensor, dim: Size, normalization: int, onesided: bool) -> Tensor:
    """The transform of real numbers, as on the CPU."""
    return _fft_r2c_mkl(self, dim, normalization, onesided)


def _fft_r2c_cufft_out(self: Tensor, dim: Size, normalization: int, onesided: bool, out: Tensor) -> Tensor:
    """The ``out=`` version of ``_fft_r2c``."""
    return _fft_r2c_mkl_out(self, dim, normalization, onesided, out)


# -- complex to real ---------------------------------------------------------------------------------------------------


def _fft_c2r_mkl(self: Tensor, dim: Size, normalization: int, last_dim_size: int) -> Tensor:
    """The real signal of a one-sided spectrum.

    All dimensions but the last are transformed first, as complex numbers.
    """
    _check(self._dtype.is_complex, "self.is_complex()")
    values = self if len(dim) == 1 else _fft_c2c_mkl(self, dim[:-1], normalization, False)
    last, size = dim[-1], list(self._size)
    size[last] = last_dim_size
    dtype = real_type(self._dtype)
    out = ops.empty_memory_format.call(tuple(size), dtype, "strided", self._device, None, None)

    def transform(xp: Any, values: Any, axes: Size) -> Any:
        return xp.fft.irfftn(values, (last_dim_size,), axes, _NORMS[normalization, False])

    return _exec_fft(out, values, tuple(size), (last,), transform)


def _fft_c2r_mkl_out(self: Tensor, dim: Size, normalization: int, last_dim_size: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``_fft_c2r``."""
    return _into(out, _fft_c2r_mkl(self, dim, normalization, last_dim_size))


def _fft_c2r_cufft(self: Tensor, dim: Size, normalization: int, last_dim_size: int) -> Tensor:
    """The real signal of a one-sided spectrum, as on the CPU."""
    return _fft_c2r_mkl(self, dim, normalization, last_dim_size)


def _fft_c2r_cufft_out(self: Tensor, dim: Size, normalization: int, last_dim_size: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``_fft_c2r``."""
    return _fft_c2r_mkl_out(self, dim, normalization, last_dim_size, out)


# -- shared ------------------------------------------------------------------------------------------------------------

_NORMS = {
    (BY_NONE, True): "backward",
    (BY_ROOT_N, True): "ortho",
    (BY_N, True): "forward",
    (BY_NONE, False): "forward",
    (BY_ROOT_N, False): "ortho",
    (BY_N, False): "backward",
}
"""NumPy's names of the modes, which depend on the direction."""


def _check(holds: bool, condition: str) -> None:
    if not holds:
        raise RuntimeError(
            f"Expected {condition} to be true, but got false.  (Could this error message be improved?  "
            "If so, please report an enhancement request to PyTorch.)"
        )


def _into(out: Tensor, result: Tensor) -> Tensor:
    resize_in_order(out, result._size)
    return ops.copy_.call(out, result, False)


def _sorted_dims(self: Tensor, dim: Size) -> Size:
    """The dimensions by stride, the largest first."""
    return tuple(sorted(dim, key=lambda d: -self._stride[d]))


def _exec_fft(out: Tensor, self: Tensor, size: Size, dim: Size, transform: Callable[[Any, Any, Size], Any]) -> Tensor:
    """Transform some dimensions, with all others flattened into one batch dimension in the order of their strides.

    The memory of ``out`` has the same order.
    """
    others = _partitioned(len(self._size), dim)
    batch = tuple(sorted(others, key=lambda d: -self._stride[d]))
    permuted = ops.permute.call(self, (*batch, *dim))
    signals = ops.reshape.call(permuted, (-1, *(self._size[d] for d in dim)))
    ops.resize_.call(out, (signals._size[0], *(size[d] for d in dim)), "contiguous_format")
    if 0 in signals._stride:  # MKL does not accept a stride of 0
        signals = ops.clone.call(signals, "contiguous_format")
    if out._array is not None and numel(out._size):
        xp = array_module(out._device.type)
        wide = signals._array.astype("D" if self._dtype.is_complex else "d")
        store(out, quiet.run(transform, xp, wide, tuple(range(1, len(dim) + 1))))
    strides = dict(zip((*batch, *dim), (*_batch_strides(batch, size, out._stride[0]), *out._stride[1:]), strict=True))
    return ops.as_strided_.call(out, size, tuple(strides[d] for d in range(len(size))), out._offset)


def _batch_strides(batch: Size, size: Size, step: int) -> Size:
    """The strides of nested batch dimensions; an element of the innermost one takes ``step``."""
    return tuple(step * math.prod(size[d] for d in batch[at + 1 :]) for at in range(len(batch)))


def _partitioned(rank: int, dim: Size) -> list[int]:
    """The dimensions that are not in ``dim``, in the order of ``std::partition``: the last ones fill the gaps."""
    order, first, last = list(range(rank)), 0, rank
    while True:
        while first < last and order[first] not in dim:
            first += 1
        while first < last and order[last - 1] in dim:
            last -= 1
        if first >= last:
            return order[:first]
        order[first], order[last - 1] = order[last - 1], order[first]
        first, last = first + 1, last - 1
