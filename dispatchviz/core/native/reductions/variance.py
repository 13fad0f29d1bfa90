"""Variance and standard deviation: ``var``, ``std``, ``var_mean``, ``std_mean`` (``std_var_out`` in
``aten/src/ATen/native/ReduceOps.cpp``)."""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.core.call.structured import resize_output
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, check_can_cast, common_device, quiet, store
from dispatchviz.core.native.iterator.wrap_dim import reduced_mask
from dispatchviz.core.native.reductions.sum_mean import Dims, reduced_size, with_reduced_dims
from dispatchviz.core.tensor.dtype import REDUCED, DType, real_type
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides, numel
from dispatchviz.core.thread import warning


def var_correction(self: Tensor, dim: Dims, correction: Scalar | None, keepdim: bool) -> Tensor:
    """The variance with a correction."""
    return _std_var("var", _empty(self), self, dim, correction, keepdim)


def var_out_correction_out(self: Tensor, dim: Dims, correction: Scalar | None, keepdim: bool, out: Tensor) -> Tensor:
    """The ``out=`` version of ``var``."""
    return _std_var("var", out, self, dim, correction, keepdim)


def std_correction(self: Tensor, dim: Dims, correction: Scalar | None, keepdim: bool) -> Tensor:
    """The standard deviation with a correction."""
    return _std_var("std", _empty(self), self, dim, correction, keepdim)


def std_out_correction_out(self: Tensor, dim: Dims, correction: Scalar | None, keepdim: bool, out: Tensor) -> Tensor:
    """The ``out=`` version of ``std``."""
    return _std_var("std", out, self, dim, correction, keepdim)


def var(self: Tensor, unbiased: bool) -> Tensor:
    """The variance of all elements."""
    return ops.var_correction.call(self, None, 1 if unbiased else 0, False)


def var_dim(self: Tensor, dim: Dims, unbiased: bool, keepdim: bool) -> Tensor:
    """The variance along some dimensions."""
    return ops.var_correction.call(self, dim, 1 if unbiased else 0, keepdim)


def var_out(self: Tensor, dim: Dims, unbiased: bool, keepdim: bool, out: Tensor) -> Tensor:
    """Write the variance along some dimensions into ``out``."""
    return ops.var_correction_out.call(self, dim, 1 if unbiased else 0, keepdim, out)


def std(self: Tensor, unbiased: bool) -> Tensor:
    """The standard deviation of all elements."""
    return ops.std_correction.call(self, None, 1 if unbiased else 0, False)


def std_dim(self: Tensor, dim: Dims, unbiased: bool, keepdim: bool) -> Tensor:
    """The standard deviation along some dimensions."""
    return ops.std_correction.call(self, dim, 1 if unbiased else 0, keepdim)


def std_out(self: Tensor, dim: Dims, unbiased: bool, keepdim: bool, out: Tensor) -> Tensor:
    """Write the standard deviation along some dimensions into ``out``."""
    return ops.std_correction_out.call(self, dim, 1 if unbiased else 0, keepdim, out)


Pair = tuple[Tensor, Tensor]


def var_mean_correction(self: Tensor, dim: Dims, correction: Scalar | None, keepdim: bool) -> Pair:
    """The variance with a correction, and the mean."""
    return _std_var_mean("var_mean", self, dim, correction, keepdim)


def std_mean_correction(self: Tensor, dim: Dims, correction: Scalar | None, keepdim: bool) -> Pair:
    """The standard deviation with a correction, and the mean."""
    return _std_var_mean("std_mean", self, dim, correction, keepdim)


def var_mean(self: Tensor, unbiased: bool) -> Pair:
    """The variance and the mean of all elements."""
    return ops.var_mean_correction.call(self, None, 1 if unbiased else 0, False)


def var_mean_dim(self: Tensor, dim: Dims, unbiased: bool, keepdim: bool) -> Pair:
    """The variance and the mean along some dimensions."""
    return ops.var_mean_correction.call(self, dim, 1 if unbiased else 0, keepdim)


def std_mean(self: Tensor, unbiased: bool) -> Pair:
    """The standard deviation and the mean of all elements."""
    return ops.std_mean_correction.call(self, None, 1 if unbiased else 0, False)


def std_mean_dim(self: Tensor, dim: Dims, unbiased: bool, keepdim: bool) -> Pair:
    """The standard deviation and the mean along some dimensions."""
    return ops.std_mean_correction.call(self, dim, 1 if unbiased else 0, keepdim)


def _empty(like: Tensor, dtype: DType | None = None) -> Tensor:
    dtype = dtype or real_type(like._dtype)
    return ops.empty_memory_format.call((0,), dtype, "strided", like._device, None, None)


def _std_var(name: str, out: Tensor, self: Tensor, dim: Dims, correction: Scalar | None, keepdim: bool) -> Tensor:
    if not self._dtype.can_require_grad:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    if self._dtype.is_complex:
        return _std_var_of_complex(name, out, self, dim, correction, keepdim)
    mask = reduced_mask(dim, len(self._size))
    size = reduced_size(self._size, mask, keepdim)
    if out._size != size:
        resize_output(out, size, contiguous_strides(size))
    viewed = with_reduced_dims(out, self, mask, keepdim)
    common_device((viewed, self))
    if self._dtype is not out._dtype:
        values = ops.to_dtype.call(self, out._dtype, False, False, None)
    else:
        values = self
    check_can_cast(self._dtype, out)
    less = 1.0 if correction is None else float(correction)  # type: ignore[arg-type]
    _warn_if_undefined(name, self, mask, less)
    if not numel(self._size):
        return ops.fill__Scalar.call(out, math.nan)
    if out._array is None:
        return out
    found = _std_var_array(values, mask, less, name == "std")
    if numel(size) == 1 and out._device.type == "cpu" and out._dtype not in REDUCED:
        if self._dtype in REDUCED:
            raise RuntimeError(f"std_var_all: Unsupported dtype {self._dtype.legacy}")
        ops.item.call(ops.mean.call(self, None))
        return ops.fill__Scalar.call(out, float(found.reshape(())))
    store(viewed, found)
    return out


def _std_var_of_complex(
    name: str, out: Tensor, self: Tensor, dim: Dims, correction: Scalar | None, keepdim: bool
) -> Tensor:
    """The variance of complex numbers: the sum of the variances of both parts."""
    dtype = real_type(out._dtype)
    real = ops.real.call(self)
    of_real = _std_var("var", _empty(self, dtype), real, dim, correction, keepdim)
    imaginary = ops.imag.call(self)
    of_imaginary = _std_var("var", _empty(self, dtype), imaginary, dim, correction, keepdim)
    ops.add_out.call(of_real, of_imaginary, 1, out)
    return ops.sqrt_out.call(out, out) if name == "std" else out


def _warn_if_undefined(name: str, self: Tensor, mask: list[bool], correction: float) -> None:
    count = math.prod(length for length, reduced in zip(self._size, mask, strict=True) if reduced)
    if numel(self._size) and count - correction <= 0:
        warning.warn_python(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            "(input numel divided by output numel).",
            "aten/src/ATen/native/ReduceOps.cpp:1861",
        )


def _std_var_array(self: Tensor, mask: list[bool], correction: float, root: bool) -> Any:
    xp: Any = array_module(self._device.type)
    axes = tuple(i for i, reduced in enumerate(mask) if reduced)
    count = math.prod(length for length, reduced in zip(self._size, mask, strict=True) if reduced)
    values = self._array.astype(accumulated(self._dtype).numpy)

    def result() -> Any:
        distance = values - xp.mean(values, axes, keepdims=True)
        squares = xp.sum(distance * distance, axes, keepdims=True)
        variance = squares / squares.dtype.type(max(count - correction, 0.0))
        return xp.sqrt(variance) if root else variance

    return quiet.run(result)


def _std_var_mean(name: str, self: Tensor, dim: Dims, correction: Scalar | None, keepdim: bool) -> Pair:
    if not self._dtype.can_require_grad:
        raise RuntimeError(f"{name} only support floating point and complex dtypes")
    result, mean = _empty(self), _empty(self, self._dtype)
    if self._dtype.is_complex:
        raise NotImplementedError(f"{name} of complex tensors is not part of the model")
    return _std_var_mean_out(name, result, mean, self, dim, correction, keepdim)


def _std_var_mean_out(
    name: str, result: Tensor, mean: Tensor, self: Tensor, dim: Dims, correction: Scalar | None, keepdim: bool
) -> Pair:
    mask = reduced_mask(dim, len(self._size))
    size = reduced_size(self._size, mask, keepdim)
    viewed = []
    for out in (result, mean):
        if out._size != size:
            resize_output(out, size, contiguous_strides(size))
        viewed.append(with_reduced_dims(out, self, mask, keepdim))
    less = 1.0 if correction is None else float(correction)  # type: ignore[arg-type]
    _warn_if_undefined(name, self, mask, less)
    if not numel(self._size):
        return ops.fill__Scalar.call(result, math.nan), ops.fill__Scalar.call(mean, math.nan)
    if result._array is not None:
        axes = tuple(i for i, reduced in enumerate(mask) if reduced)
        values = self._array.astype(accumulated(self._dtype).numpy)
        store(viewed[0], _std_var_array(self, mask, less, name == "std_mean"))
        store(viewed[1], quiet.run(array_module(self._device.type).mean, values, axes, None, None, True))
    return result, mean
