"""``_foreach_*``: one operation on every tensor of a list (``aten/src/ATen/native/ForeachOpsKernels.cpp``).

The kernels for all backends call the operator of single tensors for one tensor after the other. CUDA's faster kernels
are in ``foreach_cuda.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor, numel

Tensors = Sequence[Tensor]

_LISTS = "Tensor lists must have the same number of tensors, got {} and {}"


def check_foreach_api_restrictions(*lists: Tensors, scalars: Sequence[Scalar] | None = None) -> None:
    """Raise RuntimeError for an empty list and for lists of different lengths."""
    if not lists[0]:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for other in lists[1:]:
        if len(other) != len(lists[0]):
            raise RuntimeError(_LISTS.format(len(lists[0]), len(other)))
    if scalars is not None and len(scalars) != len(lists[0]):
        raise RuntimeError(
            f"Tensor list must have same number of elements as scalar list, got {len(lists[0])} and {len(scalars)}"
        )


def check_scalar_tensor(scalar: Tensor) -> None:
    """Raise RuntimeError for a tensor that is not a single number."""
    if scalar._size:
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {len(scalar._size)} dimensions and "
            f"{numel(scalar._size)} elements."
        )


# -- with a number -----------------------------------------------------------------------------------------------------


def foreach_tensor_add_scalar_kernel_slow(self: Tensors, scalar: Scalar) -> list[Tensor]:
    """Add the number to each tensor; return new tensors."""
    check_foreach_api_restrictions(self)
    return [ops.add_Scalar.call(tensor, scalar, 1) for tensor in self]


def foreach_tensor_add_scalar_kernel_slow_(self: Tensors, scalar: Scalar) -> None:
    """Add the number to each tensor, in place."""
    check_foreach_api_restrictions(self)
    for tensor in self:
        ops.add__Scalar.call(tensor, scalar, 1)


def foreach_tensor_mul_scalar_kernel_slow(self: Tensors, scalar: Scalar) -> list[Tensor]:
    """Multiply each tensor by the number; return new tensors."""
    check_foreach_api_restrictions(self)
    return [ops.mul_Scalar.call(tensor, scalar) for tensor in self]


def foreach_tensor_mul_scalar_kernel_slow_(self: Tensors, scalar: Scalar) -> None:
    """Multiply each tensor by the number, in place."""
    check_foreach_api_restrictions(self)
    for tensor in self:
        ops.mul__Scalar.call(tensor, scalar)


def foreach_tensor_div_scalar_kernel_slow_(self: Tensors, scalar: Scalar) -> None:
    """Divide each tensor by the number, in place."""
    check_foreach_api_restrictions(self)
    for tensor in self:
        ops.div__Scalar.call(tensor, scalar)


# -- with a list of numbers or a 0-dim tensor --------------------------------------------------------------------------


def foreach_tensor_div_scalarlist_kernel_slow_(self: Tensors, scalars: Sequence[Scalar]) -> None:
    """Divide each tensor by its number in the list, in place."""
    check_foreach_api_restrictions(self, scalars=scalars)
    for tensor, scalar in zip(self, scalars, strict=True):
        ops.div__Scalar.call(tensor, scalar)


def foreach_tensor_mul_scalarlist_kernel_slow(self: Tensors, scalars: Sequence[Scalar]) -> list[Tensor]:
    """Multiply each tensor by its number in the list; return new tensors."""
    check_foreach_api_restrictions(self, scalars=scalars)
    return [ops.mul_Scalar.call(tensor, scalar) for tensor, scalar in zip(self, scalars, strict=True)]


def foreach_tensor_mul_scalarlist_kernel_slow_(self: Tensors, scalars: Sequence[Scalar]) -> None:
    """Multiply each tensor by its number in the list, in place."""
    check_foreach_api_restrictions(self, scalars=scalars)
    for tensor, scalar in zip(self, scalars, strict=True):
        ops.mul__Scalar.call(tensor, scalar)


def foreach_tensor_add_tensor_kernel_slow_(self: Tensors, other: Tensor, alpha: Scalar) -> None:
    """Add the 0-dim tensor to each tensor, in place."""
    check_scalar_tensor(other)
    check_foreach_api_restrictions(self)
    for tensor in self:
        ops.add__Tensor.call(tensor, other, alpha)


def foreach_tensor_mul_tensor_kernel_slow_(self: Tensors, other: Tensor) -> None:
    """Multiply each tensor by the 0-dim tensor, in place."""
    check_scalar_tensor(other)
    check_foreach_api_restrictions(self)
    for tensor in self:
        ops.mul__Tensor.call(tensor, other)


# -- with another list -------------------------------------------------------------------------------------------------


def foreach_tensor_add_list_kernel_slow(self: Tensors, other: Tensors, alpha: Scalar) -> list[Tensor]:
    """Add to each tensor its partner in the other list; return new tensors."""
    check_foreach_api_restrictions(self, other)
    return [ops.add_Tensor.call(a, b, alpha) for a, b in zip(self, other, strict=True)]


def foreach_tensor_add_list_kernel_slow_(self: Tensors, other: Tensors, alpha: Scalar) -> None:
    """Add to each tensor its partner in the other list, in place."""
    check_foreach_api_restrictions(self, other)
    for a, b in zip(self, other, strict=True):
        ops.add__Tensor.call(a, b, alpha)


def foreach_tensor_sub_list_kernel_slow_(self: Tensors, other: Tensors, alpha: Scalar) -> None:
    """Subtract from each tensor its partner in the other list, in place."""
    check_foreach_api_restrictions(self, other)
    for a, b in zip(self, other, strict=True):
        ops.sub__Tensor.call(a, b, alpha)


def foreach_tensor_mul_list_kernel_slow_(self: Tensors, other: Tensors) -> None:
    """Multiply each tensor by its partner in the other list, in place."""
    check_foreach_api_restrictions(self, other)
    for a, b in zip(self, other, strict=True):
        ops.mul__Tensor.call(a, b)


def foreach_tensor_div_list_kernel_slow_(self: Tensors, other: Tensors) -> None:
    """Divide each tensor by its partner in the other list, in place."""
    check_foreach_api_restrictions(self, other)
    for a, b in zip(self, other, strict=True):
        ops.div__Tensor.call(a, b)


def foreach_tensor_clamp_min_list_kernel_slow_(self: Tensors, other: Tensors) -> None:
    """Clamp each tensor to a minimum of its partner in the other list, in place."""
    check_foreach_api_restrictions(self, other)
    for a, b in zip(self, other, strict=True):
        ops.clamp_min__Tensor.call(a, b)


def foreach_tensor_lerp_list_kernel_slow_(self: Tensors, tensors1: Tensors, weight: Scalar) -> None:
    """Interpolate between each tensor and its partner in the other list, in place."""
    check_foreach_api_restrictions(self, tensors1)
    for a, b in zip(self, tensors1, strict=True):
        ops.lerp__Scalar.call(a, b, weight)


# -- with two other lists ----------------------------------------------------------------------------------------------


def foreach_tensor_addcmul_scalar_slow(
    self: Tensors, tensor1: Tensors, tensor2: Tensors, value: Scalar
) -> list[Tensor]:
    """Apply ``addcmul`` to each tensor, with one value; return new tensors."""
    check_foreach_api_restrictions(self, tensor1, tensor2)
    return [ops.addcmul.call(a, b, c, value) for a, b, c in zip(self, tensor1, tensor2, strict=True)]


def foreach_tensor_addcmul_scalar_slow_(self: Tensors, tensor1: Tensors, tensor2: Tensors, value: Scalar) -> None:
    """Apply ``addcmul`` to each tensor, with one value, in place."""
    check_foreach_api_restrictions(self, tensor1, tensor2)
    for a, b, c in zip(self, tensor1, tensor2, strict=True):
        ops.addcmul_.call(a, b, c, value)


def foreach_tensor_addcdiv_scalar_slow_(self: Tensors, tensor1: Tensors, tensor2: Tensors, value: Scalar) -> None:
    """Apply ``addcdiv`` to each tensor, with one value, in place."""
    check_foreach_api_restrictions(self, tensor1, tensor2)
    for a, b, c in zip(self, tensor1, tensor2, strict=True):
        ops.addcdiv_.call(a, b, c, value)


def foreach_tensor_addcdiv_scalarlist_slow_(
    self: Tensors, tensor1: Tensors, tensor2: Tensors, scalars: Sequence[Scalar]
) -> None:
    """Apply ``addcdiv`` to each tensor, with a value for each, in place."""
    check_foreach_api_restrictions(self, tensor1, tensor2, scalars=scalars)
    for a, b, c, value in zip(self, tensor1, tensor2, scalars, strict=True):
        ops.addcdiv_.call(a, b, c, value)


# -- unary -------------------------------------------------------------------------------------------------------------


def foreach_tensor_neg_slow(self: Tensors) -> list[Tensor]:
    """Negate each tensor; return new tensors."""
    check_foreach_api_restrictions(self)
    return [ops.neg.call(tensor) for tensor in self]


def foreach_tensor_sqrt_slow(self: Tensors) -> list[Tensor]:
    """Take the square root of each tensor; return new tensors."""
    check_foreach_api_restrictions(self)
    return [ops.sqrt.call(tensor) for tensor in self]


def foreach_tensor_sqrt_slow_(self: Tensors) -> None:
    """Take the square root of each tensor, in place."""
    check_foreach_api_restrictions(self)
    for tensor in self:
        ops.sqrt_.call(tensor)


def foreach_tensor_zero_slow_(self: Tensors) -> None:
    """Fill each tensor with zeros, in place."""
    check_foreach_api_restrictions(self)
    for tensor in self:
        ops.zero_.call(tensor)


def foreach_tensor_norm_slow(self: Tensors, ord: Scalar, dtype: DType | None) -> list[Tensor]:
    """The norm of each tensor."""
    check_foreach_api_restrictions(self)
    return [ops.linalg_vector_norm.call(tensor, ord, None, False, dtype) for tensor in self]
