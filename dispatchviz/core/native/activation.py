"""relu and its gradient (``aten/src/ATen/native/Activation.cpp``)."""

from __future__ import annotations

from dispatchviz.core.backend import array_module
from dispatchviz.core.dtype import bool_
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator import compute, elementwise, result_type
from dispatchviz.core.native.scalars import Scalar, convert
from dispatchviz.core.structured import Structured
from dispatchviz.core.tensor import Tensor


def relu(self: Tensor) -> Tensor:
    """max(self, 0)"""
    _check_relu(self)
    return ops.clamp_min.call(self, 0)


def relu_(self: Tensor) -> Tensor:
    """In place."""
    _check_relu(self)
    return ops.clamp_min_.call(self, 0)


def _check_relu(self: Tensor) -> None:
    if self._dtype is bool_:
        raise RuntimeError("Boolean inputs not supported for relu")


def threshold_backward_meta(op: Structured, grad_output: Tensor, self: Tensor, threshold: Scalar) -> None:
    """Common dtype of self and gradient."""
    elementwise(op, self, grad_output)


def threshold_backward_out(grad_output: Tensor, self: Tensor, threshold: Scalar, out: Tensor) -> None:
    """0 where self <= threshold, else the gradient (also where self is nan)"""
    dtype = result_type(grad_output, self)
    where = array_module(out._device.type).where
    limit, zero = dtype.numpy.type(convert(threshold, dtype)), dtype.numpy.type(0)
    compute(out, dtype, lambda value, grad: where(value <= limit, zero, grad), self, grad_output)
