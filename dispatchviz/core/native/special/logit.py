"""``logit`` and its gradient (``aten/src/ATen/native/UnaryOps.cpp``, ``BinaryOps.cpp``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import (
    cast_operands,
    check_can_cast,
    compute,
    elementwise,
    float_type,
    new_output,
    no_instance,
    out_elementwise,
    result_type,
)
from dispatchviz.core.tensor.tensor import Tensor


def logit(self: Tensor, eps: float | None) -> Tensor:
    """log(self / (1 - self)), with self clamped to [eps, 1 - eps]"""
    (operand,) = cast_operands(float_type(self._dtype), self)
    return _logit(operand, eps, new_output(operand))


def logit_(self: Tensor, eps: float | None) -> Tensor:
    """The in-place version of ``logit``."""
    return ops.logit_out.call(self, eps, self)


def logit_out(self: Tensor, eps: float | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``logit``."""
    out_elementwise(out, self)
    check_can_cast(float_type(self._dtype), out)
    return _logit(self, eps, out)


def _logit(self: Tensor, eps: float | None, out: Tensor) -> Tensor:
    dtype = float_type(self._dtype)
    xp = array_module(out._device.type)
    low = -1.0 if eps is None else eps

    def logit(values: Any) -> Any:
        one = values.dtype.type(1)
        if low >= 0:
            values = xp.minimum(xp.maximum(values, values.dtype.type(low)), values.dtype.type(1 - low))
        return xp.log(values / (one - values))

    if out._array is not None:
        compute(out, dtype, no_instance("logit_cpu", dtype) if dtype.is_complex else logit, self)
    return out


def logit_backward_meta(op: Structured, grad_output: Tensor, self: Tensor, eps: float | None) -> None:
    """The common dtype of the operands."""
    elementwise(op, grad_output, self)


def logit_backward_out(grad_output: Tensor, self: Tensor, eps: float | None, grad_input: Tensor) -> None:
    """grad / (self * (1 - self)); 0 outside of [eps, 1 - eps], or nan outside of [0, 1] if there is no eps"""
    dtype = result_type(grad_output, self)
    xp = array_module(grad_input._device.type)
    low, beyond = (0.0, float("nan")) if eps is None else (eps, 0.0)

    def derivative(grad: Any, values: Any) -> Any:
        one = values.dtype.type(1)
        outside = (values < values.dtype.type(low)) | (values > values.dtype.type(1 - low))
        within = xp.where((values == 0) | (values == 1), grad * xp.inf, grad / (values * (one - values)))
        return xp.where(outside, values.dtype.type(beyond), within)

    compute(grad_input, dtype, derivative, grad_output, self)
