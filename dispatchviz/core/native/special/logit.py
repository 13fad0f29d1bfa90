"""``logit`` and its gradient (``aten/src/ATen/native/UnaryOps.cpp``, ``BinaryOps.cpp``).

The CPU rounds half and bfloat16 after every step, CUDA only the result.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import element
from dispatchviz.core.native.iterator.tensor_iterator import (
    accumulated,
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
    on_cpu = out._device.type == "cpu"
    low = element(-1.0 if eps is None else eps, dtype if on_cpu else accumulated(dtype))

    def logit(values: Any) -> Any:
        one = values.dtype.type(1)
        if low >= 0:
            values = xp.minimum(xp.maximum(values, low), one - low)
        return xp.log(values / (one - values))

    if out._array is not None:
        compute(out, dtype, no_instance("logit_cpu", dtype) if dtype.is_complex else logit, self, narrow=on_cpu)
    return out


def logit_backward_meta(op: Structured, grad_output: Tensor, self: Tensor, eps: float | None) -> None:
    """The common dtype of the operands."""
    elementwise(op, grad_output, self)


def logit_backward_out(grad_output: Tensor, self: Tensor, eps: float | None, grad_input: Tensor) -> None:
    """grad / (self * (1 - self)); 0 outside of [eps, 1 - eps], or nan outside of [0, 1] without an eps of at least 0"""
    dtype, on_cpu = result_type(grad_output, self), grad_input._device.type == "cpu"
    xp = array_module(grad_input._device.type)
    bounded = eps is not None and eps >= 0
    low = element(eps if bounded and eps else 0.0, dtype if on_cpu else accumulated(dtype))
    beyond = 0.0 if bounded else float("nan")

    def derivative(grad: Any, values: Any) -> Any:
        one = values.dtype.type(1)
        within = xp.where((values == 0) | (values == 1), grad * xp.inf, grad / (values * (one - values)))
        return xp.where((values < low) | (values > one - low), values.dtype.type(beyond), within)

    compute(grad_input, dtype, derivative, grad_output, self, narrow=on_cpu)
