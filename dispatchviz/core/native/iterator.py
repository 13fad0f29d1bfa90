"""What elementwise kernels share: common shape, dtype, device and strides (``aten/src/ATen/TensorIterator.cpp``).

Not here: the loops; they are one call into the device's array library, in ``pointwise.py`` and its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.backend import array_module
from dispatchviz.core.device import Device
from dispatchviz.core.dtype import DType, default_dtype, result_type_of
from dispatchviz.core.structured import Structured, broadcast_sizes, elementwise_strides
from dispatchviz.core.tensor import Tensor


def result_type(*operands: Tensor) -> DType:
    """``torch.result_type`` of tensors; wrapped numbers count least, then 0-dim tensors."""
    first = operands[0]._dtype
    if all(t._dtype is first and not t._wrapped_number for t in operands):
        return first
    return result_type_of(tuple((t._dtype, _rank(t)) for t in operands))


def _rank(tensor: Tensor) -> int:
    return 2 if tensor._size else 0 if tensor._wrapped_number else 1


def common_device(*operands: Tensor) -> Device:
    """Where the result lives; a 0-dim CPU tensor goes with any device.

    RuntimeError if two tensors are on different devices otherwise.
    """
    device = operands[0]._device
    for tensor in operands[1:]:
        if tensor._device is not device and tensor._device != device:
            return _mixed_device(operands)
    return device


def _mixed_device(operands: tuple[Tensor, ...]) -> Device:
    counted = [t._device for t in operands if t._size or t._device.type != "cpu"] or [operands[0]._device]
    for device in counted:
        if device != counted[0]:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"{counted[0]} and {device}!"
            )
    return counted[0]


def elementwise(op: Structured, *operands: Tensor, dtype: DType | None = None) -> None:
    """The meta of an elementwise kernel: ``dtype`` is the result's, by default the common one."""
    size = operands[0]._size
    for tensor in operands[1:]:
        size = broadcast_sizes(size, tensor._size)
    stride = elementwise_strides(size, tuple([(t._size, t._stride) for t in operands]))
    op.set_output_raw_strided(size, stride, dtype or result_type(*operands), common_device(*operands))


def elementwise_float(op: Structured, *operands: Tensor) -> None:
    """The meta of a kernel that has floating results: integers become the default dtype."""
    elementwise(op, *operands, dtype=float_type(result_type(*operands)))


def float_type(dtype: DType) -> DType:
    """A dtype that can hold fractions: itself, or the default dtype for integers and bool."""
    return dtype if dtype.can_require_grad else default_dtype


def loop(function: str, out: Tensor, dtype: DType, *operands: Tensor) -> None:
    """Runs a function of the array library over operands cast to ``dtype``, into ``out``."""
    xp = array_module(out._device.type)
    write(getattr(xp, function), out, *[operand(xp, tensor, dtype) for tensor in operands])


def operand(xp: Any, tensor: Tensor, dtype: DType) -> Any:
    """A tensor's array in a dtype, on the device of ``xp`` (0-dim CPU tensors may meet a GPU)."""
    array = tensor._array if tensor._dtype is dtype else tensor._array.astype(dtype.numpy)
    return array if type(array) is xp.ndarray else xp.asarray(array)


def write(function: Callable[..., Any], out: Tensor, *arrays: Any) -> None:
    """``function(*arrays)`` into ``out``, cast if its dtype differs."""
    target = out._array
    if all(array.dtype == target.dtype for array in arrays) and not _may_overlap(target, arrays):
        function(*arrays, out=target)
    else:
        target[...] = function(*arrays)


def _may_overlap(target: Any, arrays: tuple[Any, ...]) -> bool:
    """An operand that is another view of the target's memory would be read after it was written."""
    return any(array.base is not None and array.base is target.base and array is not target for array in arrays)
