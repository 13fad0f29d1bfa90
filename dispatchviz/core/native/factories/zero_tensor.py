"""Zero tensors, which have a shape but no stored zeros: ``_efficientzerotensor``, and ``add``, ``sub``, ``mul``,
``div`` of zero tensors.

The kernels for ZeroTensor belong to operators whose result is known without computing. Mirrors the ``*_zerotensor``
kernels of ``aten/src/ATen/native/BinaryOps.cpp`` and ``TensorFactories.cpp``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dispatchviz.core.device.device import CPU, META, Device, concrete
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.native.factories.empty_full import check_size
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.views import view_ops
from dispatchviz.core.tensor.conj_neg_bits import ZERO, is_zerotensor
from dispatchviz.core.tensor.dtype import DType, default_dtype
from dispatchviz.core.tensor.tensor import Size, Tensor, without_memory

_META = raw(DispatchKey.Meta)


def _efficientzerotensor(
    size: Size,
    dtype: DType | None = None,
    layout: str | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """Zeros without memory."""
    check_size(size)
    return without_memory(tuple(size), dtype or default_dtype(), concrete(device or CPU), ZERO)


def mul_zerotensor(ks: int, self: Tensor, other: Tensor) -> Tensor:
    """A zero tensor: zero times anything is zero."""
    return _zeros_like(_shaped(ops.mul_Tensor, self, other), self, other)


def div_zerotensor(ks: int, self: Tensor, other: Tensor) -> Tensor:
    """A zero tensor, nan or infinity."""
    shaped = _shaped(ops.div_Tensor, self, other)
    if not is_zerotensor(other):
        return _zeros_like(shaped, self, other)
    value = math.nan if is_zerotensor(self) else math.inf
    return ops.full.call(shaped._size, value, shaped._dtype, None, _device(self, other), None)


def add_zerotensor(ks: int, self: Tensor, other: Tensor, alpha: Scalar) -> Tensor:
    """A copy of the other operand."""
    shaped = _shaped(ops.add_Tensor, self, other, alpha)
    device = _device(self, other)
    if not is_zerotensor(self):
        return _like(shaped, self, device)
    if is_zerotensor(other):
        return _zeros_like(shaped, self, other)
    result = _like(shaped, other, device)
    return result if alpha == 1 else ops.mul_Scalar.call(result, alpha)


def sub_zerotensor(ks: int, self: Tensor, other: Tensor, alpha: Scalar) -> Tensor:
    """A copy of the other operand, or its negative."""
    return add_zerotensor(ks, self, other, -alpha)


def _shaped(op: Any, self: Tensor, other: Tensor, *numbers: Scalar) -> Tensor:
    """The result's shape and dtype, from the operator's meta kernel."""
    result: Tensor = op.redispatch(_META, _on_meta(self), _on_meta(other), *numbers)
    return result


def _on_meta(tensor: Tensor) -> Tensor:
    """The operand on the meta device: ``send_to_meta``. The tangent of a number remains a wrapped number."""
    if not (is_zerotensor(tensor) and tensor._wrapped_number):
        return ops.to_dtype_layout.call(tensor, None, None, META, None, False, False, None)
    zero = ops._efficientzerotensor.call(tensor._size, tensor._dtype, "strided", META, False)
    zero._wrapped_number = True
    return zero


def _device(self: Tensor, other: Tensor) -> Device:
    """The device of the result. A 0-dim CPU tensor may be combined with a CUDA tensor."""
    return other._device if self._device.type == "cpu" else self._device


def _zeros_like(shaped: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return ops._efficientzerotensor.call(shaped._size, shaped._dtype, None, _device(self, other), None)


def _like(shaped: Tensor, tensor: Tensor, device: Device) -> Tensor:
    expanded = ops.expand.call(tensor, shaped._size, False)
    return ops._to_copy.call(expanded, shaped._dtype, None, device, None, False, None)


def _ignoring_keys(kernel: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A backend kernel wrapped as a kernel that takes a key set, which it ignores."""

    def run(ks: int, *args: Any) -> Tensor:
        return kernel(*args)

    return run


KERNELS: dict[str, Callable[..., Tensor]] = {
    "add.Tensor": add_zerotensor,
    "sub.Tensor": sub_zerotensor,
    "mul.Tensor": mul_zerotensor,
    "div.Tensor": div_zerotensor,
    "as_strided": _ignoring_keys(view_ops.as_strided),
    "view": _ignoring_keys(view_ops.view),
    "_reshape_alias": _ignoring_keys(view_ops._reshape_alias),
}
"""The kernels that are registered for ZeroTensor."""
