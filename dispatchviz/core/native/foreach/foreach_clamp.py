"""``_foreach_clamp_min``, ``_foreach_clamp_max`` with a number or a list, on the CPU and on CUDA
(``aten/src/ATen/native/ForeachOpsKernels.cpp``, ``cuda/ForeachBinaryOpScalar.cu``).

NB: the CUDA kernels follow PyTorch's sources and were not measured on a GPU.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.foreach.foreach_cuda import _in_place, _new, _number, can_use_fast_route
from dispatchviz.core.native.foreach.foreach_ops import Tensors, check_foreach_api_restrictions
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.tensor.tensor import Tensor


def _each(operator: Any, self: Tensors, scalar: Scalar) -> list[Tensor]:
    check_foreach_api_restrictions(self)
    return [operator.call(tensor, scalar) for tensor in self]


def _bounded(self: Tensors, scalar: Scalar, name: str) -> Any:
    """The function that clamps one array of the list."""
    function, number = getattr(array_module(self[0]._device.type), name), _number(scalar, self[0])
    return lambda values: function(values, number)


def foreach_tensor_clamp_min_scalar_kernel_slow(self: Tensors, scalar: Scalar) -> list[Tensor]:
    """Clamp each tensor to a minimum of the number; return new tensors."""
    return _each(ops.clamp_min, self, scalar)


def foreach_tensor_clamp_min_scalar_kernel_slow_(self: Tensors, scalar: Scalar) -> None:
    """Clamp each tensor to a minimum of the number, in place."""
    _each(ops.clamp_min_, self, scalar)


def foreach_tensor_clamp_min_scalar_kernel_cuda(self: Tensors, scalar: Scalar) -> list[Tensor]:
    """Clamp each tensor to a minimum of the number; return new tensors."""
    check_foreach_api_restrictions(self)
    if not can_use_fast_route(self):
        return _each(ops.clamp_min, self, scalar)
    return _new(_bounded(self, scalar, "maximum"), self)


def foreach_tensor_clamp_min_scalar_kernel_cuda_(self: Tensors, scalar: Scalar) -> None:
    """Clamp each tensor to a minimum of the number, in place."""
    check_foreach_api_restrictions(self)
    if not can_use_fast_route(self):
        _each(ops.clamp_min_, self, scalar)
    else:
        _in_place(_bounded(self, scalar, "maximum"), self)


def foreach_tensor_clamp_max_scalar_kernel_slow(self: Tensors, scalar: Scalar) -> list[Tensor]:
    """Clamp each tensor to a maximum of the number; return new tensors."""
    return _each(ops.clamp_max, self, scalar)


def foreach_tensor_clamp_max_scalar_kernel_slow_(self: Tensors, scalar: Scalar) -> None:
    """Clamp each tensor to a maximum of the number, in place."""
    _each(ops.clamp_max_, self, scalar)


def foreach_tensor_clamp_max_scalar_kernel_cuda(self: Tensors, scalar: Scalar) -> list[Tensor]:
    """Clamp each tensor to a maximum of the number; return new tensors."""
    check_foreach_api_restrictions(self)
    if not can_use_fast_route(self):
        return _each(ops.clamp_max, self, scalar)
    return _new(_bounded(self, scalar, "minimum"), self)


def foreach_tensor_clamp_max_scalar_kernel_cuda_(self: Tensors, scalar: Scalar) -> None:
    """Clamp each tensor to a maximum of the number, in place."""
    check_foreach_api_restrictions(self)
    if not can_use_fast_route(self):
        _each(ops.clamp_max_, self, scalar)
    else:
        _in_place(_bounded(self, scalar, "minimum"), self)


# -- with another list -------------------------------------------------------------------------------------------------


def _each_pair(operator: Any, self: Tensors, other: Tensors) -> list[Tensor]:
    check_foreach_api_restrictions(self, other)
    return [operator.call(a, b) for a, b in zip(self, other, strict=True)]


def _minimum_or_maximum(operator: Any, self: Tensors, other: Tensors, name: str) -> list[Tensor]:
    """The minimum or maximum of the lists, by one kernel for all tensors if the fast route is possible."""
    check_foreach_api_restrictions(self, other)
    if not can_use_fast_route(self, other):
        return _each_pair(operator, self, other)
    return _new(getattr(array_module(self[0]._device.type), name), self, other)


def foreach_tensor_clamp_min_list_kernel_slow(self: Tensors, other: Tensors) -> list[Tensor]:
    """Clamp each tensor to a minimum of its partner in the other list; return new tensors."""
    return _each_pair(ops.clamp_min_Tensor, self, other)


def foreach_tensor_clamp_max_list_kernel_slow(self: Tensors, other: Tensors) -> list[Tensor]:
    """Clamp each tensor to a maximum of its partner in the other list; return new tensors."""
    return _each_pair(ops.clamp_max_Tensor, self, other)


def foreach_tensor_clamp_max_list_kernel_slow_(self: Tensors, other: Tensors) -> None:
    """Clamp each tensor to a maximum of its partner in the other list, in place."""
    _each_pair(ops.clamp_max__Tensor, self, other)


def foreach_tensor_clamp_min_list_kernel_cuda(self: Tensors, other: Tensors) -> list[Tensor]:
    """Clamp each tensor to a minimum of its partner in the other list; return new tensors."""
    return _minimum_or_maximum(ops.clamp_min_Tensor, self, other, "maximum")


def foreach_tensor_clamp_max_list_kernel_cuda(self: Tensors, other: Tensors) -> list[Tensor]:
    """Clamp each tensor to a maximum of its partner in the other list; return new tensors."""
    return _minimum_or_maximum(ops.clamp_max_Tensor, self, other, "minimum")


def foreach_tensor_clamp_max_list_kernel_cuda_(self: Tensors, other: Tensors) -> None:
    """Clamp each tensor to a maximum of its partner in the other list, in place."""
    check_foreach_api_restrictions(self, other)
    if can_use_fast_route(self, other):
        _in_place(array_module(self[0]._device.type).minimum, self, other)
    else:
        _each_pair(ops.clamp_max__Tensor, self, other)
