"""``_foreach_pow``, ``_foreach_sub`` and ``_foreach_div_`` with single numbers, for capturable optimizers, on the CPU
and on CUDA (``aten/src/ATen/native/ForeachOpsKernels.cpp``, ``cuda/ForeachBinaryOpScalar.cu``).

NB: the CUDA kernels follow PyTorch's sources and were not measured on a GPU.
"""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.foreach.foreach_cuda import _in_place, _new, _number, can_use_fast_route
from dispatchviz.core.native.foreach.foreach_ops import Tensors, check_foreach_api_restrictions, check_scalar_tensor
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.tensor_iterator import compute
from dispatchviz.core.tensor.tensor import Tensor


def foreach_tensor_sub_scalar_kernel_slow(self: Tensors, scalar: Scalar) -> list[Tensor]:
    """Subtract the number from each tensor; return new tensors."""
    check_foreach_api_restrictions(self)
    return [ops.sub_Scalar.call(tensor, scalar, 1) for tensor in self]


def foreach_tensor_sub_scalar_kernel_slow_(self: Tensors, scalar: Scalar) -> None:
    """Subtract the number from each tensor, in place."""
    check_foreach_api_restrictions(self)
    for tensor in self:
        ops.sub__Scalar.call(tensor, scalar, 1)


def foreach_tensor_sub_scalar_kernel_cuda(self: Tensors, scalar: Scalar) -> list[Tensor]:
    """Subtract the number from each tensor; return new tensors."""
    check_foreach_api_restrictions(self)
    if not can_use_fast_route(self):
        return foreach_tensor_sub_scalar_kernel_slow(self, scalar)
    number = _number(scalar, self[0])
    return _new(lambda a: a - number, self)


def foreach_tensor_sub_scalar_kernel_cuda_(self: Tensors, scalar: Scalar) -> None:
    """Subtract the number from each tensor, in place."""
    check_foreach_api_restrictions(self)
    if not can_use_fast_route(self):
        return foreach_tensor_sub_scalar_kernel_slow_(self, scalar)
    number = _number(scalar, self[0])
    return _in_place(lambda a: a - number, self)


def foreach_tensor_div_tensor_kernel_slow_(self: Tensors, other: Tensor) -> None:
    """Divide each tensor by the 0-dim tensor, in place."""
    check_scalar_tensor(other)
    check_foreach_api_restrictions(self)
    for tensor in self:
        ops.div__Tensor.call(tensor, other)


def foreach_tensor_div_tensor_kernel_cuda_(self: Tensors, other: Tensor) -> None:
    """Divide each tensor by the 0-dim tensor, in place. If it is on the CPU, it is read there."""
    check_scalar_tensor(other)
    check_foreach_api_restrictions(self)
    if not can_use_fast_route(self) or other._device is not self[0]._device or other._dtype is not self[0]._dtype:
        return foreach_tensor_div_tensor_kernel_slow_(self, other)
    for tensor in self:
        compute(tensor, tensor._dtype, lambda a, b: a / b, tensor, other)
    return None


def foreach_scalar_pow_list_kernel_slow(self: Scalar, exponent: Tensors) -> list[Tensor]:
    """Raise a number to the power of each tensor; return new tensors."""
    check_foreach_api_restrictions(exponent)
    return [ops.pow_Scalar.call(self, tensor) for tensor in exponent]


def foreach_scalar_pow_list_kernel_cuda(self: Scalar, exponent: Tensors) -> list[Tensor]:
    """Raise a number to the power of each tensor; return new tensors."""
    check_foreach_api_restrictions(exponent)
    if not can_use_fast_route(exponent):
        return foreach_scalar_pow_list_kernel_slow(self, exponent)
    number = _number(self, exponent[0])
    return _new(lambda a: number**a, exponent)


def foreach_tensor_pow_scalar_kernel_slow_(self: Tensors, exponent: Scalar) -> None:
    """Raise each tensor to the power of a number, in place."""
    check_foreach_api_restrictions(self)
    for tensor in self:
        ops.pow__Scalar.call(tensor, exponent)


def foreach_tensor_pow_scalar_kernel_cuda_(self: Tensors, exponent: Scalar) -> None:
    """Raise each tensor to the power of a number, in place."""
    check_foreach_api_restrictions(self)
    if not can_use_fast_route(self):
        return foreach_tensor_pow_scalar_kernel_slow_(self, exponent)
    number = _number(exponent, self[0])
    return _in_place(lambda a: a**number, self)
