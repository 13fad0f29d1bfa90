"""``_foreach_abs``, ``_foreach_reciprocal``, ``_foreach_sign`` and others that optimizers other than SGD and Adam call,
on the CPU and on CUDA (``aten/src/ATen/native/ForeachOpsKernels.cpp``, ``cuda/Foreach*.cu``).

NB: the CUDA kernels follow PyTorch's sources and were not measured on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.foreach.foreach_cuda import _in_place, _new, _number, can_use_fast_route
from dispatchviz.core.native.foreach.foreach_ops import Tensors, check_foreach_api_restrictions
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.tensor.tensor import Tensor

# -- unary -------------------------------------------------------------------------------------------------------------


def _each(operator: Any, self: Tensors) -> list[Tensor]:
    check_foreach_api_restrictions(self)
    return [operator.call(tensor) for tensor in self]


def _each_in_place(operator: Any, self: Tensors) -> None:
    _each(operator, self)


def _one_over(values: Any) -> Any:
    return values.dtype.type(1) / values


def _fast(name: str, self: Tensors) -> Callable[..., Any] | None:
    """The function of one kernel for the whole list, or None if the fast route is not possible."""
    check_foreach_api_restrictions(self)
    if not can_use_fast_route(self):
        return None
    own = {"neg": "negative"}
    xp = array_module(self[0]._device.type)
    return _one_over if name == "reciprocal" else getattr(xp, own.get(name, name))


def foreach_tensor_abs_slow(self: Tensors) -> list[Tensor]:
    """Take the absolute value of each tensor; return new tensors."""
    return _each(ops.abs, self)


def foreach_tensor_abs_cuda(self: Tensors) -> list[Tensor]:
    """Take the absolute value of each tensor; return new tensors."""
    function = _fast("abs", self)
    return _each(ops.abs, self) if function is None else _new(function, self)


def foreach_tensor_abs_slow_(self: Tensors) -> None:
    """Replace each tensor by its absolute value, in place."""
    _each_in_place(ops.abs_, self)


def foreach_tensor_abs_cuda_(self: Tensors) -> None:
    """Replace each tensor by its absolute value, in place."""
    function = _fast("abs", self)
    return _each_in_place(ops.abs_, self) if function is None else _in_place(function, self)


def foreach_tensor_reciprocal_slow(self: Tensors) -> list[Tensor]:
    """Take the reciprocal of each tensor; return new tensors."""
    return _each(ops.reciprocal, self)


def foreach_tensor_reciprocal_cuda(self: Tensors) -> list[Tensor]:
    """Take the reciprocal of each tensor; return new tensors."""
    function = _fast("reciprocal", self)
    return _each(ops.reciprocal, self) if function is None else _new(function, self)


def foreach_tensor_reciprocal_slow_(self: Tensors) -> None:
    """Take the reciprocal of each tensor, in place."""
    _each_in_place(ops.reciprocal_, self)


def foreach_tensor_reciprocal_cuda_(self: Tensors) -> None:
    """Take the reciprocal of each tensor, in place."""
    function = _fast("reciprocal", self)
    return _each_in_place(ops.reciprocal_, self) if function is None else _in_place(function, self)


def foreach_tensor_sign_slow(self: Tensors) -> list[Tensor]:
    """Take the sign of each tensor; return new tensors."""
    return _each(ops.sign, self)


def foreach_tensor_sign_cuda(self: Tensors) -> list[Tensor]:
    """Take the sign of each tensor; return new tensors."""
    function = _fast("sign", self)
    return _each(ops.sign, self) if function is None else _new(function, self)


def foreach_tensor_sign_slow_(self: Tensors) -> None:
    """Take the sign of each tensor, in place."""
    _each_in_place(ops.sign_, self)


def foreach_tensor_sign_cuda_(self: Tensors) -> None:
    """Take the sign of each tensor, in place."""
    function = _fast("sign", self)
    return _each_in_place(ops.sign_, self) if function is None else _in_place(function, self)


def foreach_tensor_neg_slow_(self: Tensors) -> None:
    """Negate each tensor, in place."""
    _each_in_place(ops.neg_, self)


def foreach_tensor_neg_cuda_(self: Tensors) -> None:
    """Negate each tensor, in place."""
    function = _fast("neg", self)
    return _each_in_place(ops.neg_, self) if function is None else _in_place(function, self)


# -- with another list or a list of numbers ----------------------------------------------------------------------------


def foreach_tensor_mul_list_kernel_slow(self: Tensors, other: Tensors) -> list[Tensor]:
    """Multiply each tensor by its partner in the other list; return new tensors."""
    check_foreach_api_restrictions(self, other)
    return [ops.mul_Tensor.call(a, b) for a, b in zip(self, other, strict=True)]


def foreach_tensor_mul_list_kernel_cuda(self: Tensors, other: Tensors) -> list[Tensor]:
    """Multiply each tensor by its partner in the other list; return new tensors."""
    check_foreach_api_restrictions(self, other)
    if not can_use_fast_route(self, other):
        return foreach_tensor_mul_list_kernel_slow(self, other)
    return _new(lambda a, b: a * b, self, other)


def foreach_tensor_sub_list_kernel_slow(self: Tensors, other: Tensors, alpha: Scalar) -> list[Tensor]:
    """Subtract from each tensor its partner in the other list; return new tensors."""
    check_foreach_api_restrictions(self, other)
    return [ops.sub_Tensor.call(a, b, alpha) for a, b in zip(self, other, strict=True)]


def foreach_tensor_sub_list_kernel_cuda(self: Tensors, other: Tensors, alpha: Scalar) -> list[Tensor]:
    """Subtract from each tensor its partner in the other list; return new tensors."""
    check_foreach_api_restrictions(self, other)
    if not can_use_fast_route(self, other):
        return foreach_tensor_sub_list_kernel_slow(self, other, alpha)
    number = _number(alpha, self[0])
    return _new(lambda a, b: a - number * b, self, other)


def foreach_tensor_add_scalarlist_kernel_slow_(self: Tensors, scalars: Sequence[Scalar]) -> None:
    """Add to each tensor its number in the list, in place."""
    check_foreach_api_restrictions(self, scalars=scalars)
    for tensor, scalar in zip(self, scalars, strict=True):
        ops.add__Scalar.call(tensor, scalar, 1)


def foreach_tensor_add_scalarlist_kernel_cuda_(self: Tensors, scalars: Sequence[Scalar]) -> None:
    """Add to each tensor its number in the list, in place."""
    check_foreach_api_restrictions(self, scalars=scalars)
    if not can_use_fast_route(self):
        return foreach_tensor_add_scalarlist_kernel_slow_(self, scalars)
    for tensor, scalar in zip(self, scalars, strict=True):
        number = _number(scalar, tensor)
        _in_place(lambda a, number=number: a + number, [tensor])
    return None


def foreach_tensor_copy_list_kernel_slow_(self: Tensors, src: Tensors, non_blocking: bool) -> None:
    """Copy its partner in the other list into each tensor, in place."""
    check_foreach_api_restrictions(self, src)
    for target, source in zip(self, src, strict=True):
        ops.copy_.call(target, source, non_blocking)


def foreach_tensor_copy_list_kernel_cuda_(self: Tensors, src: Tensors, non_blocking: bool) -> None:
    """Copy its partner in the other list into each tensor, in place."""
    check_foreach_api_restrictions(self, src)
    if not can_use_fast_route(self, src):
        return foreach_tensor_copy_list_kernel_slow_(self, src, non_blocking)
    return _in_place(lambda _, source: source, self, src)
