"""``bitwise_left_shift``, ``bitwise_right_shift``, ``__lshift__``, ``__rshift__``
(``aten/src/ATen/native/BinaryOps.cpp``, ``cpu/BinaryOpsKernel.cpp``).

If the count is negative or at least the number of bits, a left shift gives 0 and a right shift gives the sign. Python's
``<<`` is a separate operator with the same kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar, wrapped_scalar_tensor
from dispatchviz.core.native.iterator.tensor_iterator import (
    check_can_cast,
    compute,
    elementwise,
    new_output,
    no_instance,
    operand,
    out_elementwise,
    quiet,
    result_type,
    store,
)
from dispatchviz.core.tensor.dtype import DType, bool_
from dispatchviz.core.tensor.tensor import Tensor

# -- left shift --------------------------------------------------------------------------------------------------------


def bitwise_left_shift_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, self, other)


def bitwise_left_shift_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """self * 2 ** other"""
    _shift("lshift_cpu", self, other, out)


def bitwise_left_shift_out_Tensor_Scalar_out(self: Tensor, other: Scalar, out: Tensor) -> Tensor:
    """Write self shifted left by a number into ``out``."""
    return ops.bitwise_left_shift_Tensor_out.call(self, wrapped_scalar_tensor(other), out)


def bitwise_left_shift_Tensor_Scalar(self: Tensor, other: Scalar) -> Tensor:
    """self shifted left by a number."""
    return ops.bitwise_left_shift_Tensor.call(self, wrapped_scalar_tensor(other))


def bitwise_left_shift_Scalar_Tensor(self: Scalar, other: Tensor) -> Tensor:
    """A number shifted left by a tensor."""
    return ops.bitwise_left_shift_Tensor.call(wrapped_scalar_tensor(self), other)


def bitwise_left_shift__Tensor_Scalar(self: Tensor, other: Scalar) -> Tensor:
    """Shift left by a number, in place."""
    return ops.bitwise_left_shift_Tensor_out.call(self, wrapped_scalar_tensor(other), self)


def __lshift___Tensor(self: Tensor, other: Tensor) -> Tensor:
    """``self << other``"""
    return _shifted("lshift_cpu", self, other)


def __lshift___Scalar(self: Tensor, other: Scalar) -> Tensor:
    """``self << other``"""
    return _shifted("lshift_cpu", self, wrapped_scalar_tensor(other))


def __ilshift___Tensor(self: Tensor, other: Tensor) -> Tensor:
    """``self <<= other``"""
    return _shifted_in_place("lshift_cpu", self, other)


def __ilshift___Scalar(self: Tensor, other: Scalar) -> Tensor:
    """``self <<= other``"""
    return _shifted_in_place("lshift_cpu", self, wrapped_scalar_tensor(other))


# -- right shift -------------------------------------------------------------------------------------------------------


def bitwise_right_shift_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, self, other)


def bitwise_right_shift_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """self / 2 ** other, rounded down"""
    _shift("rshift_cpu", self, other, out)


def bitwise_right_shift_out_Tensor_Scalar_out(self: Tensor, other: Scalar, out: Tensor) -> Tensor:
    """Write self shifted right by a number into ``out``."""
    return ops.bitwise_right_shift_Tensor_out.call(self, wrapped_scalar_tensor(other), out)


def bitwise_right_shift_Tensor_Scalar(self: Tensor, other: Scalar) -> Tensor:
    """self shifted right by a number."""
    return ops.bitwise_right_shift_Tensor.call(self, wrapped_scalar_tensor(other))


def bitwise_right_shift_Scalar_Tensor(self: Scalar, other: Tensor) -> Tensor:
    """A number shifted right by a tensor."""
    return ops.bitwise_right_shift_Tensor.call(wrapped_scalar_tensor(self), other)


def bitwise_right_shift__Tensor_Scalar(self: Tensor, other: Scalar) -> Tensor:
    """Shift right by a number, in place."""
    return ops.bitwise_right_shift_Tensor_out.call(self, wrapped_scalar_tensor(other), self)


def __rshift___Tensor(self: Tensor, other: Tensor) -> Tensor:
    """``self >> other``"""
    return _shifted("rshift_cpu", self, other)


def __rshift___Scalar(self: Tensor, other: Scalar) -> Tensor:
    """``self >> other``"""
    return _shifted("rshift_cpu", self, wrapped_scalar_tensor(other))


def __irshift___Tensor(self: Tensor, other: Tensor) -> Tensor:
    """``self >>= other``"""
    return _shifted_in_place("rshift_cpu", self, other)


def __irshift___Scalar(self: Tensor, other: Scalar) -> Tensor:
    """``self >>= other``"""
    return _shifted_in_place("rshift_cpu", self, wrapped_scalar_tensor(other))


# -- shared ------------------------------------------------------------------------------------------------------------


def _shifted(kernel: str, self: Tensor, other: Tensor) -> Tensor:
    """Cast the operands, allocate the result, then shift."""
    dtype = result_type(self, other)
    arrays = [operand(tensor, dtype, self._device.type) for tensor in (self, other)]
    out = new_output(self, other)
    if out._array is not None:
        store(out, quiet.run(_function(kernel, dtype, out), *arrays))
    return out


def _shifted_in_place(kernel: str, self: Tensor, other: Tensor) -> Tensor:
    out_elementwise(self, self, other)
    check_can_cast(result_type(self, other), self)
    _shift(kernel, self, other, self)
    return self


def _shift(kernel: str, self: Tensor, other: Tensor, out: Tensor) -> None:
    dtype = result_type(self, other)
    if out._array is not None:
        compute(out, dtype, _function(kernel, dtype, out), self, other)


def _function(kernel: str, dtype: DType, out: Tensor) -> Callable[..., Any]:
    """The function that shifts arrays."""
    if dtype.can_require_grad or dtype is bool_:
        return no_instance(kernel, dtype)
    return partial(_left if kernel == "lshift_cpu" else _right, array_module(out._device.type))


def _left(xp: Any, values: Any, count: Any) -> Any:
    inside = (count >= 0) & (count < 8 * values.itemsize)
    return xp.where(inside, values << xp.where(inside, count, 0), 0)


def _right(xp: Any, values: Any, count: Any) -> Any:
    most = 8 * values.itemsize - 1
    inside = (count >= 0) & (count <= most)
    sign = values >> most if values.dtype.kind == "i" else 0
    return xp.where(inside, values >> xp.where(inside, count, 0), sign)
