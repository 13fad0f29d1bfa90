"""``_foreach_*`` on CUDA: one kernel for a whole list (``aten/src/ATen/native/cuda/Foreach*.cu``).

The fast route calls no other operator. It requires tensors of one dtype, device and geometry that are all dense;
otherwise the kernels for all backends run. The kernels that SGD and Adam call were measured on a GPU, the others follow
PyTorch's sources. NB: norms are computed one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dispatchviz.core.autograd.variables.variable import increment_version
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.native.factories.empty_full import empty_like
from dispatchviz.core.native.foreach import foreach_ops
from dispatchviz.core.native.foreach.foreach_ops import Tensors
from dispatchviz.core.native.iterator.scalar import Scalar, convert
from dispatchviz.core.native.iterator.tensor_iterator import compute
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor, is_non_overlapping_and_dense


def can_use_fast_route(*lists: Tensors) -> bool:
    """Return whether the fast route is possible.

    All tensors must have one device and one floating or complex dtype. They must be dense, and have the geometry of the
    tensors at their position in the other lists.
    """
    first = lists[0][0]
    return first._dtype.can_require_grad and all(
        tensor._dtype is first._dtype
        and tensor._device is first._device
        and (tensor._size, tensor._stride) == (row[0]._size, row[0]._stride)
        and is_non_overlapping_and_dense(tensor._size, tensor._stride)
        for row in zip(*lists, strict=True)
        for tensor in row
    )


def _number(value: Scalar, like: Tensor) -> Any:
    return like._dtype.numpy.type(convert(value, like._dtype))


def _in_place(function: Callable[..., Any], *lists: Tensors) -> None:
    for row in zip(*lists, strict=True):
        compute(row[0], row[0]._dtype, function, *row)
    _increment_version(lists[0])


def _increment_version(tensors: Tensors) -> None:
    """Increment the versions: these kernels do it themselves, unlike those of single tensors
    (``cuda/MultiTensorApply.cuh``).
    """
    for tensor in tensors:
        increment_version(tensor)


def _new(function: Callable[..., Any], *lists: Tensors) -> list[Tensor]:
    results = [empty_like(tensor, None, None, None, None, None) for tensor in lists[0]]
    for result, *row in zip(results, *lists, strict=True):
        compute(result, result._dtype, function, *row)
    return results


# -- with a number -----------------------------------------------------------------------------------------------------


def foreach_tensor_add_scalar_kernel_cuda(self: Tensors, scalar: Scalar) -> list[Tensor]:
    """Add the number to each tensor; return new tensors."""
    foreach_ops.check_foreach_api_restrictions(self)
    if not can_use_fast_route(self):
        return foreach_ops.foreach_tensor_add_scalar_kernel_slow(self, scalar)
    number = _number(scalar, self[0])
    return _new(lambda a: a + number, self)


def foreach_tensor_add_scalar_kernel_cuda_(self: Tensors, scalar: Scalar) -> None:
    """Add the number to each tensor, in place."""
    foreach_ops.check_foreach_api_restrictions(self)
    if not can_use_fast_route(self):
        return foreach_ops.foreach_tensor_add_scalar_kernel_slow_(self, scalar)
    number = _number(scalar, self[0])
    return _in_place(lambda a: a + number, self)


def foreach_tensor_mul_scalar_kernel_cuda(self: Tensors, scalar: Scalar) -> list[Tensor]:
    """Multiply each tensor by the number; return new tensors."""
    foreach_ops.check_foreach_api_restrictions(self)
    if not can_use_fast_route(self):
        return foreach_ops.foreach_tensor_mul_scalar_kernel_slow(self, scalar)
    number = _number(scalar, self[0])
    return _new(lambda a: a * number, self)


def foreach_tensor_mul_scalar_kernel_cuda_(self: Tensors, scalar: Scalar) -> None:
    """Multiply each tensor by the number, in place."""
    foreach_ops.check_foreach_api_restrictions(self)
    if not can_use_fast_route(self):
        return foreach_ops.foreach_tensor_mul_scalar_kernel_slow_(self, scalar)
    number = _number(scalar, self[0])
    return _in_place(lambda a: a * number, self)


def foreach_tensor_div_scalar_kernel_cuda_(self: Tensors, scalar: Scalar) -> None:
    """Divide each tensor by the number, in place."""
    foreach_ops.check_foreach_api_restrictions(self)
    if not can_use_fast_route(self):
        return foreach_ops.foreach_tensor_div_scalar_kernel_slow_(self, scalar)
    number = _number(scalar, self[0])
    return _in_place(lambda a: a / number, self)


# -- with a list of numbers or a 0-dim tensor --------------------------------------------------------------------------


def foreach_tensor_div_scalarlist_kernel_cuda_(self: Tensors, scalars: Sequence[Scalar]) -> None:
    """Divide each tensor by its number in the list, in place."""
    foreach_ops.check_foreach_api_restrictions(self, scalars=scalars)
    if not can_use_fast_route(self):
        return foreach_ops.foreach_tensor_div_scalarlist_kernel_slow_(self, scalars)
    for tensor, scalar in zip(self, scalars, strict=True):
        number = _number(scalar, tensor)
        _in_place(lambda a, number=number: a / number, [tensor])
    return None


def foreach_tensor_mul_scalarlist_kernel_cuda(self: Tensors, scalars: Sequence[Scalar]) -> list[Tensor]:
    """Multiply each tensor by its number in the list; return new tensors."""
    foreach_ops.check_foreach_api_restrictions(self, scalars=scalars)
    if not can_use_fast_route(self):
        return foreach_ops.foreach_tensor_mul_scalarlist_kernel_slow(self, scalars)
    results: list[Tensor] = []
    for tensor, scalar in zip(self, scalars, strict=True):
        number = _number(scalar, tensor)
        results += _new(lambda a, number=number: a * number, [tensor])
    return results


def foreach_tensor_mul_scalarlist_kernel_cuda_(self: Tensors, scalars: Sequence[Scalar]) -> None:
    """Multiply each tensor by its number in the list, in place."""
    foreach_ops.check_foreach_api_restrictions(self, scalars=scalars)
    if not can_use_fast_route(self):
        return foreach_ops.foreach_tensor_mul_scalarlist_kernel_slow_(self, scalars)
    for tensor, scalar in zip(self, scalars, strict=True):
        number = _number(scalar, tensor)
        _in_place(lambda a, number=number: a * number, [tensor])
    return None


def foreach_tensor_add_tensor_kernel_cuda_(self: Tensors, other: Tensor, alpha: Scalar) -> None:
    """Add the 0-dim tensor to each tensor, in place. The fast route requires it on the same device, as in PyTorch."""
    foreach_ops.check_scalar_tensor(other)
    foreach_ops.check_foreach_api_restrictions(self)
    if not can_use_fast_route(self) or other._device is not self[0]._device or other._dtype is not self[0]._dtype:
        return foreach_ops.foreach_tensor_add_tensor_kernel_slow_(self, other, alpha)
    factor = _number(alpha, self[0])
    for tensor in self:
        compute(tensor, tensor._dtype, lambda a, b: a + factor * b, tensor, other)
    return _increment_version(self)


def foreach_tensor_mul_tensor_kernel_cuda_(self: Tensors, other: Tensor) -> None:
    """Multiply each tensor by the 0-dim tensor, in place. If it is on the CPU, it is read there."""
    foreach_ops.check_scalar_tensor(other)
    foreach_ops.check_foreach_api_restrictions(self)
    if not can_use_fast_route(self) or other._device is not self[0]._device or other._dtype is not self[0]._dtype:
        return foreach_ops.foreach_tensor_mul_tensor_kernel_slow_(self, other)
    for tensor in self:
        compute(tensor, tensor._dtype, lambda a, b: a * b, tensor, other)
    return _increment_version(self)


# -- with another list -------------------------------------------------------------------------------------------------


def foreach_tensor_add_list_kernel_cuda(self: Tensors, other: Tensors, alpha: Scalar) -> list[Tensor]:
    """Add to each tensor its partner in the other list; return new tensors."""
    foreach_ops.check_foreach_api_restrictions(self, other)
    if not can_use_fast_route(self, other):
        return foreach_ops.foreach_tensor_add_list_kernel_slow(self, other, alpha)
    factor = _number(alpha, self[0])
    return _new(lambda a, b: a + factor * b, self, other)


def foreach_tensor_add_list_kernel_cuda_(self: Tensors, other: Tensors, alpha: Scalar) -> None:
    """Add to each tensor its partner in the other list, in place."""
    foreach_ops.check_foreach_api_restrictions(self, other)
    if not can_use_fast_route(self, other):
        return foreach_ops.foreach_tensor_add_list_kernel_slow_(self, other, alpha)
    factor = _number(alpha, self[0])
    return _in_place(lambda a, b: a + factor * b, self, other)


def foreach_tensor_sub_list_kernel_cuda_(self: Tensors, other: Tensors, alpha: Scalar) -> None:
    """Subtract from each tensor its partner in the other list, in place."""
    foreach_ops.check_foreach_api_restrictions(self, other)
    if not can_use_fast_route(self, other):
        return foreach_ops.foreach_tensor_sub_list_kernel_slow_(self, other, alpha)
    factor = _number(alpha, self[0])
    return _in_place(lambda a, b: a - factor * b, self, other)


def foreach_tensor_mul_list_kernel_cuda_(self: Tensors, other: Tensors) -> None:
    """Multiply each tensor by its partner in the other list, in place."""
    foreach_ops.check_foreach_api_restrictions(self, other)
    if not can_use_fast_route(self, other):
        return foreach_ops.foreach_tensor_mul_list_kernel_slow_(self, other)
    return _in_place(lambda a, b: a * b, self, other)


def foreach_tensor_div_list_kernel_cuda_(self: Tensors, other: Tensors) -> None:
    """Divide each tensor by its partner in the other list, in place."""
    foreach_ops.check_foreach_api_restrictions(self, other)
    if not can_use_fast_route(self, other):
        return foreach_ops.foreach_tensor_div_list_kernel_slow_(self, other)
    return _in_place(lambda a, b: a / b, self, other)


def foreach_tensor_clamp_min_list_kernel_cuda_(self: Tensors, other: Tensors) -> None:
    """Clamp each tensor to a minimum of its partner in the other list, in place."""
    foreach_ops.check_foreach_api_restrictions(self, other)
    if not can_use_fast_route(self, other):
        return foreach_ops.foreach_tensor_clamp_min_list_kernel_slow_(self, other)
    return _in_place(array_module(self[0]._device.type).maximum, self, other)


def foreach_tensor_lerp_list_cuda_(self: Tensors, tensors1: Tensors, weight: Scalar) -> None:
    """Interpolate between each tensor and its partner in the other list, in place."""
    foreach_ops.check_foreach_api_restrictions(self, tensors1)
    if not can_use_fast_route(self, tensors1):
        return foreach_ops.foreach_tensor_lerp_list_kernel_slow_(self, tensors1, weight)
    number = _number(weight, self[0])
    near, rest = abs(number) < 0.5, _number(1, self[0]) - number
    return _in_place((lambda a, b: a + number * (b - a)) if near else (lambda a, b: b - (b - a) * rest), self, tensors1)


# -- with two other lists ----------------------------------------------------------------------------------------------


def foreach_tensor_addcmul_scalar_cuda(
    self: Tensors, tensor1: Tensors, tensor2: Tensors, value: Scalar
) -> list[Tensor]:
    """Apply ``addcmul`` to each tensor, with one value; return new tensors."""
    foreach_ops.check_foreach_api_restrictions(self, tensor1, tensor2)
    if not can_use_fast_route(self, tensor1, tensor2):
        return foreach_ops.foreach_tensor_addcmul_scalar_slow(self, tensor1, tensor2, value)
    number = _number(value, self[0])
    return _new(lambda a, b, c: a + number * (b * c), self, tensor1, tensor2)


def foreach_tensor_addcmul_scalar_cuda_(self: Tensors, tensor1: Tensors, tensor2: Tensors, value: Scalar) -> None:
    """Apply ``addcmul`` to each tensor, with one value, in place."""
    foreach_ops.check_foreach_api_restrictions(self, tensor1, tensor2)
    if not can_use_fast_route(self, tensor1, tensor2):
        return foreach_ops.foreach_tensor_addcmul_scalar_slow_(self, tensor1, tensor2, value)
    number = _number(value, self[0])
    return _in_place(lambda a, b, c: a + number * (b * c), self, tensor1, tensor2)


def foreach_tensor_addcdiv_scalar_cuda_(self: Tensors, tensor1: Tensors, tensor2: Tensors, value: Scalar) -> None:
    """Apply ``addcdiv`` to each tensor, with one value, in place."""
    foreach_ops.check_foreach_api_restrictions(self, tensor1, tensor2)
    if not can_use_fast_route(self, tensor1, tensor2):
        return foreach_ops.foreach_tensor_addcdiv_scalar_slow_(self, tensor1, tensor2, value)
    return foreach_tensor_addcdiv_scalarlist_cuda_(self, tensor1, tensor2, [value] * len(self))


def foreach_tensor_addcdiv_scalarlist_cuda_(
    self: Tensors, tensor1: Tensors, tensor2: Tensors, scalars: Sequence[Scalar]
) -> None:
    """Apply ``addcdiv`` to each tensor, with a value for each, in place."""
    foreach_ops.check_foreach_api_restrictions(self, tensor1, tensor2, scalars=scalars)
    if not can_use_fast_route(self, tensor1, tensor2):
        return foreach_ops.foreach_tensor_addcdiv_scalarlist_slow_(self, tensor1, tensor2, scalars)
    for a, b, c, value in zip(self, tensor1, tensor2, scalars, strict=True):
        number = _number(value, a)
        _in_place(lambda x, y, z, number=number: x + number * (y / z), [a], [b], [c])
    return None


# -- unary -------------------------------------------------------------------------------------------------------------


def foreach_tensor_neg_cuda(self: Tensors) -> list[Tensor]:
    """Negate each tensor; return new tensors."""
    foreach_ops.check_foreach_api_restrictions(self)
    return _new(lambda a: -a, self) if can_use_fast_route(self) else foreach_ops.foreach_tensor_neg_slow(self)


def foreach_tensor_sqrt_cuda(self: Tensors) -> list[Tensor]:
    """Take the square root of each tensor; return new tensors."""
    foreach_ops.check_foreach_api_restrictions(self)
    if not can_use_fast_route(self):
        return foreach_ops.foreach_tensor_sqrt_slow(self)
    return _new(array_module(self[0]._device.type).sqrt, self)


def foreach_tensor_sqrt_cuda_(self: Tensors) -> None:
    """Take the square root of each tensor, in place."""
    foreach_ops.check_foreach_api_restrictions(self)
    if not can_use_fast_route(self):
        return foreach_ops.foreach_tensor_sqrt_slow_(self)
    return _in_place(array_module(self[0]._device.type).sqrt, self)


def foreach_tensor_zero_cuda_(self: Tensors) -> None:
    """Fill each tensor with zeros, in place. Unlike the other kernels here, this one does not increment versions."""
    foreach_ops.check_foreach_api_restrictions(self)
    if not can_use_fast_route(self):
        return foreach_ops.foreach_tensor_zero_slow_(self)
    for tensor in self:
        compute(tensor, tensor._dtype, lambda a: a * 0, tensor)
    return None


def foreach_tensor_norm_cuda(self: Tensors, ord: Scalar, dtype: DType | None) -> list[Tensor]:
    """The norm of each tensor."""
    return foreach_ops.foreach_tensor_norm_slow(self, ord, dtype)
