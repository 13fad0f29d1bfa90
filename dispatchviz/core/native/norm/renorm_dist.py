"""``renorm``, ``dist`` (``aten/src/ATen/native/Normalization.cpp``, ``Distance.cpp``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, quiet, store
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import REDUCED, float32, real_type
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides


def dist(self: Tensor, other: Tensor, p: Scalar) -> Tensor:
    """The norm of the difference."""
    return ops.norm_Scalar.call(ops.sub_Tensor.call(self, other, 1), p)


def renorm_meta(op: Structured, self: Tensor, p: Scalar, dim: int, maxnorm: Scalar) -> None:
    """The shape of self. Raise RuntimeError for an invalid ``p`` or ``maxnorm``, and for fewer than two dimensions."""
    if isinstance(p, complex):
        raise RuntimeError("renorm: p must be real-valued")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if isinstance(maxnorm, complex):
        raise RuntimeError("renorm: maxnorm must be real-valued")
    if not maxnorm >= 0:  # NaN is refused too
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {float(maxnorm):g}")
    if len(self._size) < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {len(self._size)} dimensions")
    op.set_output_raw_strided(self._size, contiguous_strides(self._size), self._dtype, self._device)


def renorm_out(self: Tensor, p: Scalar, dim: int, maxnorm: Scalar, out: Tensor) -> None:
    """Scale the slices along a dimension down to a norm of ``maxnorm``, if theirs is larger"""
    dim = wrap_dim(dim, len(self._size))
    others = tuple(at for at in range(len(self._size)) if at != dim)
    wide = float32 if self._dtype in REDUCED else None
    norm = factor = ops.linalg_vector_norm.call(self, float(p), others, True, wide)  # type: ignore[arg-type]
    if accumulated(self._dtype) is not real_type(self._dtype):
        factor = ops.empty_memory_format.call(norm._size, self._dtype, "strided", self._device, None, None)
    if norm._array is not None:
        xp: Any = array_module(self._device.type)
        limit = norm._dtype.numpy.type(float(maxnorm))  # type: ignore[arg-type]
        found = quiet.run(lambda: xp.where(norm._array > limit, limit / (norm._array + limit.dtype.type(1e-7)), 1))
        store(factor, found)
    ops.mul_out.call(self, factor, out)
