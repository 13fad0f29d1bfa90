"""Comparisons: ``eq``, ``ne``, ``ge``, ``gt``, ``le``, ``lt``, ``logical_and`` and the other logical operators
(``aten/src/ATen/native/BinaryOps.cpp``).

Results are bool. An ``out=`` tensor may have any dtype. On the CPU, an output that is neither bool nor of the operands'
common dtype is written through a temporary.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.tensor_iterator import (
    compute,
    elementwise,
    elementwise_with_number,
    no_instance,
    operand,
    out_elementwise,
    quiet,
    result_type,
    store,
)
from dispatchviz.core.tensor.dtype import bool_
from dispatchviz.core.tensor.tensor import Tensor

# -- meta --------------------------------------------------------------------------------------------------------------


def eq_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The broadcast shape of the operands, with dtype bool."""
    elementwise(op, self, other, dtype=bool_)


def eq_Scalar_meta(op: Structured, self: Tensor, other: Scalar) -> None:
    """The shape of self, with dtype bool."""
    elementwise_with_number(op, self, other, bool_)


def ne_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The broadcast shape of the operands, with dtype bool."""
    elementwise(op, self, other, dtype=bool_)


def ne_Scalar_meta(op: Structured, self: Tensor, other: Scalar) -> None:
    """The shape of self, with dtype bool."""
    elementwise_with_number(op, self, other, bool_)


def ge_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The broadcast shape of the operands, with dtype bool."""
    elementwise(op, self, other, dtype=bool_)


def ge_Scalar_meta(op: Structured, self: Tensor, other: Scalar) -> None:
    """The shape of self, with dtype bool."""
    elementwise_with_number(op, self, other, bool_)


def gt_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The broadcast shape of the operands, with dtype bool."""
    elementwise(op, self, other, dtype=bool_)


def gt_Scalar_meta(op: Structured, self: Tensor, other: Scalar) -> None:
    """The shape of self, with dtype bool."""
    elementwise_with_number(op, self, other, bool_)


def le_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The broadcast shape of the operands, with dtype bool."""
    elementwise(op, self, other, dtype=bool_)


def le_Scalar_meta(op: Structured, self: Tensor, other: Scalar) -> None:
    """The shape of self, with dtype bool."""
    elementwise_with_number(op, self, other, bool_)


def lt_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The broadcast shape of the operands, with dtype bool."""
    elementwise(op, self, other, dtype=bool_)


def lt_Scalar_meta(op: Structured, self: Tensor, other: Scalar) -> None:
    """The shape of self, with dtype bool."""
    elementwise_with_number(op, self, other, bool_)


# -- impl --------------------------------------------------------------------------------------------------------------


def eq_Tensor_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """self == other"""
    _compare("equal", self, other, out)


def eq_Scalar_out(self: Tensor, other: Any, out: Tensor) -> None:
    """self == number, wrapped by the meta function"""
    _compare("equal", self, other, out)


def ne_Tensor_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """self != other"""
    _compare("not_equal", self, other, out)


def ne_Scalar_out(self: Tensor, other: Any, out: Tensor) -> None:
    """self != number, wrapped by the meta function"""
    _compare("not_equal", self, other, out)


def ge_Tensor_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """self >= other"""
    _compare("greater_equal", self, other, out)


def ge_Scalar_out(self: Tensor, other: Any, out: Tensor) -> None:
    """self >= number, wrapped by the meta function"""
    _compare("greater_equal", self, other, out)


def gt_Tensor_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """self > other"""
    _compare("greater", self, other, out)


def gt_Scalar_out(self: Tensor, other: Any, out: Tensor) -> None:
    """self > number, wrapped by the meta function"""
    _compare("greater", self, other, out)


def le_Tensor_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """self <= other"""
    _compare("less_equal", self, other, out)


def le_Scalar_out(self: Tensor, other: Any, out: Tensor) -> None:
    """self <= number, wrapped by the meta function"""
    _compare("less_equal", self, other, out)


def lt_Tensor_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """self < other"""
    _compare("less", self, other, out)


def lt_Scalar_out(self: Tensor, other: Any, out: Tensor) -> None:
    """self < number, wrapped by the meta function"""
    _compare("less", self, other, out)


_ORDERED = {"less": "lt_cpu", "less_equal": "le_cpu", "greater": "gt_cpu", "greater_equal": "ge_cpu"}
"""Comparisons that complex numbers do not support, with the kernel names of their errors."""


def _compare(function: str, self: Tensor, other: Tensor, out: Tensor) -> None:
    """Run the loop. A bool output is written directly, any other one as a result of the common dtype."""
    dtype = result_type(self, other)
    compare = getattr(array_module(out._device.type), function)
    if dtype.is_complex and function in _ORDERED:
        compare = no_instance(_ORDERED[function], dtype)
    if dtype.is_complex and function.startswith("logical"):
        compare = partial(_compare_truth_values, compare)
    if out._dtype is bool_:
        a, b = operand(self, dtype, out._device.type), operand(other, dtype, out._device.type)
        store(out, quiet.run(compare, a, b))
    else:
        compute(out, dtype, compare, self, other)


def _compare_truth_values(compare: Callable[..., Any], *operands: Any) -> Any:
    """Compare the truth values: CuPy's logical functions do not accept complex numbers."""
    return compare(*(each != 0 for each in operands))


# -- logical -----------------------------------------------------------------------------------------------------------


def logical_and(self: Tensor, other: Tensor) -> Tensor:
    """True where both elements are not zero."""
    out = ops.empty_memory_format.call((0,), bool_, None, self._device, None, None)
    return ops.logical_and_out.call(self, other, out)


def logical_and_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """Write ``logical_and`` into ``out``."""
    return _logical_out("logical_and", self, other, out)


def logical_and_(self: Tensor, other: Tensor) -> Tensor:
    """The in-place version of ``logical_and``."""
    return ops.logical_and_out.call(self, other, self)


def logical_or(self: Tensor, other: Tensor) -> Tensor:
    """True where at least one element is not zero."""
    out = ops.empty_memory_format.call((0,), bool_, None, self._device, None, None)
    return ops.logical_or_out.call(self, other, out)


def logical_or_(self: Tensor, other: Tensor) -> Tensor:
    """The in-place version of ``logical_or``."""
    return ops.logical_or_out.call(self, other, self)


def logical_or_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """Write ``logical_or`` into ``out``."""
    return _logical_out("logical_or", self, other, out)


def logical_xor(self: Tensor, other: Tensor) -> Tensor:
    """True where exactly one element is not zero."""
    out = ops.empty_memory_format.call((0,), bool_, None, self._device, None, None)
    return ops.logical_xor_out.call(self, other, out)


def logical_xor_(self: Tensor, other: Tensor) -> Tensor:
    """The in-place version of ``logical_xor``."""
    return ops.logical_xor_out.call(self, other, self)


def logical_xor_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """Write ``logical_xor`` into ``out``."""
    return _logical_out("logical_xor", self, other, out)


def _logical_out(function: str, self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """Cast the operands, then resize the output and run the loop."""
    self, other = out_elementwise(out, self, other, dtype=result_type(self, other))
    if out._array is not None:
        _compare(function, self, other, out)
    return out


def logical_not(self: Tensor) -> Tensor:
    """True where the element is zero."""
    out = ops.empty_memory_format.call((0,), bool_, None, self._device, None, None)
    return ops.logical_not_out.call(self, out)


def logical_not_(self: Tensor) -> Tensor:
    """The in-place version of ``logical_not``."""
    return ops.logical_not_out.call(self, self)


def logical_not_out(self: Tensor, out: Tensor) -> Tensor:
    """Write ``logical_not`` into ``out``, which may have any dtype."""
    out_elementwise(out, self)
    if out._array is not None:
        store(out, quiet.run(operator.eq, operand(self, self._dtype, out._device.type), 0))
    return out
