"""Python meta kernels of ``full``, ``randn``, ``relu``, ``where``: they only allocate (``torch/_refs``).

This module mirrors ``torch/_refs/__init__.py`` and ``torch/_meta_registrations.py``.

NB: in PyTorch, most operators have a Python kernel at Meta. For all except these the C++ rules run here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.factories.empty_full import full_dtype
from dispatchviz.core.native.iterator.argument_checks import check_same_device
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.tensor_iterator import new_output, result_type
from dispatchviz.core.tensor.dtype import DType, bool_, default_dtype
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides


def allocated(
    ks: int, size: Size, dtype: DType | None, layout: str | None, device: Device | None, pin_memory: bool | None
) -> Tensor:
    """Return the tensor of ``ones``, ``zeros``, ``rand``."""
    return ops.empty_memory_format.call(size, dtype, layout, device, pin_memory, None)


def full(
    ks: int,
    size: Size,
    fill_value: Scalar,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """Return a tensor with the number's dtype if none is given."""
    return allocated(ks, size, dtype or full_dtype(fill_value), layout, device, pin_memory)


def randn(
    ks: int, size: Size, dtype: DType | None, layout: str | None, device: Device | None, pin_memory: bool | None
) -> Tensor:
    """Return a contiguous tensor. Raise RuntimeError for a negative size and for an integer or bool dtype."""
    if any(length < 0 for length in size):
        raise RuntimeError(
            "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
            "enhancement request to PyTorch.)"
        )
    kind = dtype or default_dtype()
    if not (kind.is_floating_point or kind.is_complex):
        raise RuntimeError(f"expected a floating-point or complex dtype, but got dtype={kind}")
    return ops.empty_strided.call(size, contiguous_strides(tuple(size)), kind, layout, device, pin_memory)


def relu(ks: int, self: Tensor) -> Tensor:
    """Return a tensor of any dtype, including bool and complex, which the CPU refuses."""
    return ops.empty_like.call(self, None, None, None, None, None)


def relu_(ks: int, self: Tensor) -> Tensor:
    """Return the tensor itself."""
    return self


def where(ks: int, condition: Tensor, self: Tensor, other: Tensor) -> Tensor:
    """Return a tensor of the common dtype. Raise RuntimeError unless the condition is bool and shapes and devices fit
    (CPU numbers fit everywhere).
    """
    if condition._dtype is not bool_:
        raise RuntimeError(f"expected predicate to be bool, got {condition._dtype}")
    operands = (condition, self, other)
    _check_shapes([operand._size for operand in operands])
    check_same_device(*operands)
    return new_output(*operands, dtype=result_type(self, other))


def _check_shapes(sizes: Sequence[Size]) -> None:
    """Raise RuntimeError if shapes do not broadcast (``_broadcast_shapes``)."""
    common = [1] * max(map(len, sizes))
    for index, size in enumerate(sizes):
        for dim in range(-1, -1 - len(size), -1):
            if size[dim] not in (1, common[dim]) and common[dim] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {size[dim]} at {dim}! Mismatching argument at "
                    f"index {index} had torch.Size({list(size)}); but expected shape should be broadcastable to "
                    f"{common}"
                )
            common[dim] = size[dim] if common[dim] == 1 else common[dim]


KERNELS: dict[str, Callable[..., Any]] = {
    "ones": allocated,
    "zeros": allocated,
    "rand": allocated,
    "full": full,
    "randn": randn,
    "relu": relu,
    "relu_": relu_,
    "where.self": where,
}
"""The kernels by operator, without ``aten::``."""
