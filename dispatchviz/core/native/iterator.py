"""What elementwise kernels share (``aten/src/ATen/TensorIterator.cpp``): the result's shape, strides, dtype and device
in the meta function, casts and the loop in the impl.

Rule 1: on the CPU operands are cast to the common dtype by ``Tensor.to``, and an output of another dtype is computed
in a temporary and copied: both are calls of operators. On CUDA the loop casts each element as it goes.
Rule 2: a loop is one call into the device's array library, in ``quiet``.
NB: in PyTorch, the casts of Rule 1 happen while the meta function builds the iterator; here when the impl starts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import Context
from functools import lru_cache
from typing import Any

import numpy

from dispatchviz.core.backend import array_module
from dispatchviz.core.device import Device
from dispatchviz.core.dtype import DType, default_dtype, result_type_of
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.structured import Structured, broadcast_sizes, check_no_internal_overlap, resize
from dispatchviz.core.tensor import (
    Size,
    Tensor,
    contiguous_strides,
    is_contiguous,
    is_non_overlapping_and_dense,
)

Geometry = tuple[Size, Size]
"""Size and stride of an operand."""


class _Quiet(threading.local):
    """NumPy warns of overflow, division by zero and nan, the loops of PyTorch do not.

    ``run(function, *args)`` calls a function where NumPy's error state is "ignore", at a tenth of the cost of
    ``numpy.errstate``. One context per thread, since a context cannot be entered twice.
    """

    def __init__(self) -> None:
        context = Context()
        context.run(numpy.seterr, all="ignore")
        self.run: Callable[..., Any] = context.run


quiet = _Quiet()


# -- dtype -------------------------------------------------------------------------------------------------------------


def result_type(*operands: Tensor) -> DType:
    """``torch.result_type`` of tensors; wrapped numbers count least, then 0-dim tensors."""
    first = operands[0]
    dtype = first._dtype
    if all(t._dtype is dtype for t in operands) and not (first._wrapped_number and operands[-1]._wrapped_number):
        return dtype
    return result_type_of(tuple([(t._dtype, _rank(t)) for t in operands]))


def _rank(tensor: Tensor) -> int:
    return 2 if tensor._size else 0 if tensor._wrapped_number else 1


def float_type(dtype: DType) -> DType:
    """A dtype that can hold fractions: itself, or the default dtype for integers and bool."""
    return dtype if dtype.can_require_grad else default_dtype


def not_implemented(kernel: str, dtype: DType) -> NotImplementedError:
    """The error of a loop that has no instance for a dtype (``AT_DISPATCH_*``)."""
    word = dtype.legacy
    return NotImplementedError(f"\"{kernel}\" not implemented for '{word}'")


# -- meta --------------------------------------------------------------------------------------------------------------


def elementwise(op: Structured, *operands: Tensor, dtype: DType | None = None) -> None:
    """The meta of an elementwise kernel: ``dtype`` is the result's, by default the common one."""
    if op.variant != "functional":
        check_written(op.output, operands)
    size, stride = result_geometry(tuple([(t._size, t._stride) for t in operands]))
    op.set_output_raw_strided(size, stride, dtype or result_type(*operands), common_device(operands))


def elementwise_float(op: Structured, *operands: Tensor) -> None:
    """The meta of a kernel that has floating results: integers become the default dtype."""
    elementwise(op, *operands, dtype=float_type(result_type(*operands)))


def elementwise_same(op: Structured, operand: Tensor) -> None:
    """The meta of a kernel of one tensor that has no casts. RuntimeError if an out= tensor has another dtype."""
    if op.variant == "out" and op.output._dtype is not operand._dtype:
        found, expected = op.output._dtype.legacy, operand._dtype.legacy
        raise RuntimeError(f"Found dtype {found} but expected {expected}")
    elementwise(op, operand)


def elementwise_with_number(op: Structured, self: Tensor, dtype: DType) -> None:
    """The meta of a kernel of a tensor and a Python number, which takes part as a 0-dim tensor."""
    if op.variant != "functional":
        check_written(op.output, (self,))
    op.set_output_raw_strided(*result_geometry(((self._size, self._stride), ((), ()))), dtype, self._device)


def out_elementwise(out: Tensor, *operands: Tensor) -> None:
    """Checks an out= tensor of a kernel that is not structured, and resizes it to the result's shape.

    Strides other than contiguous ones are set by ``as_strided_``.
    """
    check_written(out, operands)
    size, stride = result_geometry(tuple([(t._size, t._stride) for t in operands]))
    if out._size != size:
        resize(out, size, contiguous_strides(size))
        if stride != out._stride:
            ops.as_strided_.call(out, size, stride, None)
    check_no_internal_overlap(out)


def common_device(operands: tuple[Tensor, ...]) -> Device:
    """Where the result lives; one 0-dim CPU tensor may meet tensors of another device.

    RuntimeError if two tensors are on different devices otherwise.
    """
    device = operands[0]._device
    for tensor in operands:
        if tensor._device is not device:
            return _mixed_device(operands)
    return device


def _mixed_device(operands: tuple[Tensor, ...]) -> Device:
    common = next((t._device for t in operands if t._device.type != "cpu"), operands[0]._device)
    scalars = 0
    for tensor in operands:
        if tensor._device.type == "cpu" and not tensor._size and common.type != "cpu":
            scalars += 1
            if scalars > 1:
                raise RuntimeError("Trying to pass too many CPU scalars to non-CPU kernel!")
        elif tensor._device != common:
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {common} and "
                f"{tensor._device}!"
            )
    return common


@lru_cache(maxsize=4096)
def result_geometry(operands: tuple[Geometry, ...]) -> Geometry:
    """Size and strides of a new elementwise result. RuntimeError if the operands cannot be broadcast.

    Operands of one shape that are all contiguous, all channels-last, or all have the same dense strides, give such
    strides. Otherwise the result is dense in the order of dimensions that the operands have.
    """
    size = operands[0][0]
    for its_size, _ in operands[1:]:
        size = broadcast_sizes(size, its_size)
    if all(its_size == size for its_size, _ in operands):
        if all(is_contiguous(*operand) for operand in operands):
            return size, contiguous_strides(size)
        if all(_is_channels_last(*operand) for operand in operands):
            return size, channels_last_strides(size)
        stride = operands[0][1]
        if all(its == stride and is_dense(size, its) for _, its in operands):
            return size, stride
    return size, _dense_strides(size, [_aligned(size, *operand) for operand in operands])


@lru_cache(maxsize=4096)
def dense_strides_like(size: Size, stride: Size) -> Size:
    """Strides of a new dense tensor that keeps the order of dimensions (``infer_dense_strides``)."""
    return stride if is_dense(size, stride) else _dense_strides(size, [stride])


def is_dense(size: Size, stride: Size) -> bool:
    """``is_non_overlapping_and_dense``, which holds for every empty tensor."""
    return 0 in size or is_non_overlapping_and_dense(size, stride)


def channels_last_strides(size: Size) -> Size:
    """Strides of a 4-d tensor whose second dimension is the fastest."""
    _, channels, height, width = size
    return height * width * channels, 1, width * channels, channels


def _is_channels_last(size: Size, stride: Size) -> bool:
    if len(size) != 4:
        return False
    return all(length == 1 or a == b for length, a, b in zip(size, stride, channels_last_strides(size), strict=True))


def _dense_strides(size: Size, operands: list[Size]) -> Size:
    order = _memory_order(size, operands)
    if order == list(reversed(range(len(size)))):
        return contiguous_strides(size)
    strides = [0] * len(size)
    step = 1
    for dim in order:
        strides[dim] = step
        step *= size[dim]
    return tuple(strides)


def _aligned(size: Size, its_size: Size, stride: Size) -> Size:
    """An operand's strides over the result's dimensions; broadcast ones are 0."""
    lead = len(size) - len(its_size)
    own = tuple(0 if a == 1 and b != 1 else s for a, b, s in zip(its_size, size[lead:], stride, strict=True))
    return (0,) * lead + own


def _memory_order(size: Size, strides: list[Size]) -> list[int]:
    """Dimensions from the fastest to the slowest, by insertion as PyTorch sorts them (``reorder_dimensions``)."""
    order = list(reversed(range(len(size))))
    for i in range(1, len(order)):
        at = i
        for before in reversed(range(i)):
            compared = _compare(size, strides, order[before], order[at])
            if compared > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif compared < 0:
                break
    return order


def _compare(size: Size, strides: list[Size], a: int, b: int) -> int:
    """1: ``a`` should come after ``b``; -1: it is right as it is; 0: cannot tell, because of a broadcast dimension."""
    for stride in strides:
        if stride[a] == 0 or stride[b] == 0:
            continue
        if stride[a] != stride[b]:
            return -1 if stride[a] < stride[b] else 1
        if size[a] > size[b]:
            return 1
    return 0


# -- overlapping memory ------------------------------------------------------------------------------------------------


def check_written(output: Tensor, operands: tuple[Tensor, ...]) -> None:
    """RuntimeError if a tensor that is to be written shares a part of its memory with an operand, or its device."""
    common_device((output, *operands))
    for operand in operands:
        if operand is not output and operand._storage is output._storage and _overlap_partly(output, operand):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                "memory location. Please clone() the tensor before performing the operation."
            )


def _overlap_partly(a: Tensor, b: Tensor) -> bool:
    """Dense tensors only: in others nobody looks (``MemOverlapStatus::TooHard``)."""
    if 0 in a._size or 0 in b._size or not (is_dense(a._size, a._stride) and is_dense(b._size, b._stride)):
        return False
    begin_a, begin_b = a._offset, b._offset
    end_a, end_b = begin_a + _extent(a), begin_b + _extent(b)
    if (begin_a, end_a) == (begin_b, end_b):
        return a._stride != b._stride
    return begin_a < end_b and begin_b < end_a


def _extent(tensor: Tensor) -> int:
    return 1 + sum((length - 1) * step for length, step in zip(tensor._size, tensor._stride, strict=True))


# -- impl --------------------------------------------------------------------------------------------------------------


def loop(function: str, out: Tensor, dtype: DType, *operands: Tensor) -> None:
    """Runs a function of the array library over operands cast to ``dtype``, into ``out``."""
    if out._dtype is dtype and out._device.type == "cpu":
        quiet.run(
            getattr(numpy, function), *[t._array if t._dtype is dtype else cast(t, dtype) for t in operands], out._array
        )
    else:
        xp = array_module(out._device.type)
        compute(out, dtype, lambda *arrays: getattr(xp, function)(*arrays), *operands)


def compute(out: Tensor, dtype: DType, function: Callable[..., Any], *operands: Tensor) -> None:
    """Writes ``function(arrays of the operands in dtype)`` to ``out``; ``dtype`` is also that of the result."""
    target = temporary(out, dtype)
    arrays = [operand(t, dtype, out._device.type) for t in operands]
    store(target, quiet.run(function, *arrays))
    if target is not out:
        ops.copy_.call(out, target, False)


def temporary(out: Tensor, dtype: DType) -> Tensor:
    """The tensor in which a CPU loop computes: ``out``, or a new one of the common dtype."""
    if out._dtype is dtype or out._device.type != "cpu":
        return out
    return ops.empty_like.call(out, dtype, None, None, None, "contiguous_format")


def operand(tensor: Tensor, dtype: DType, device_type: str) -> Any:
    """A tensor's array in a dtype, for a loop on a device (a 0-dim CPU tensor may meet a GPU)."""
    if device_type == "cpu":
        return tensor._array if tensor._dtype is dtype else cast(tensor, dtype)
    xp = array_module(device_type)
    array = tensor._array if type(tensor._array) is xp.ndarray else xp.asarray(tensor._array)
    return converted(array, dtype)


def cast(tensor: Tensor, dtype: DType) -> Any:
    """The array of ``tensor.to(dtype)``."""
    return ops.to_dtype.call(tensor, dtype, False, False, None)._array


def converted(array: Any, dtype: DType) -> Any:
    """An array with the numbers of another one as C++ casts them: complex to real drops the imaginary part."""
    if array.dtype == dtype.numpy:
        return array
    if array.dtype.kind == "c" and dtype.numpy.kind not in "cb":
        array = array.real
    return quiet.run(array.astype, dtype.numpy)


def store(out: Tensor, values: Any) -> None:
    """Writes an array or a number into a tensor's memory, cast as in C++."""
    if getattr(values, "dtype", out._dtype.numpy) != out._dtype.numpy:
        values = converted(values, out._dtype)
    out._array[...] = values
