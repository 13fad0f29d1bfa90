"""TensorIterator: broadcast shape, strides, common dtype and device of elementwise kernels in the meta function, the
loop in the impl (``aten/src/ATen/TensorIterator.cpp``).

Rule 1: on the CPU, operands are cast to the common dtype by ``Tensor.to``, and an output of another dtype is computed
in a temporary and copied. Both are operator calls. On CUDA the loop casts each element as it runs.
Rule 2: a structured kernel that is an iterator itself does this in its meta function, before it requests the output
(``compute_types``). Other kernels build an iterator in their impl, and its loop casts when it begins.
Rule 3: a loop is one call into the device's array library, in ``quiet``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import Context
from operator import attrgetter
from typing import Any

import numpy

from dispatchviz.core.call.structured import Structured, check_no_internal_overlap, resize_output
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.argument_checks import check_same_device
from dispatchviz.core.native.iterator.memory_overlap import (
    check_no_partial_overlap,
    element_by_element,
    reads_what_it_writes,
)
from dispatchviz.core.native.iterator.scalar import Scalar, wrapped_scalar_tensor
from dispatchviz.core.native.iterator.strides import Geometry, dense_strides_like, is_channels_last, result_geometry
from dispatchviz.core.tensor.dtype import REDUCED, DType, bool_, can_cast, default_dtype, float32, result_type_of
from dispatchviz.core.tensor.tensor import CONTIGUOUS_STRIDES, Size, Tensor, contiguous_strides


class _Quiet(threading.local):
    """A context without NumPy's warnings of overflow, division by zero and nan, which the loops of PyTorch do not give.

    ``run(function, *args)`` calls a function with NumPy's error state "ignore", at a tenth of the cost of
    ``numpy.errstate``. There is one context per thread, because a context cannot be entered twice.
    """

    def __init__(self) -> None:
        context = Context()
        context.run(numpy.seterr, all="ignore")
        self.run: Callable[..., Any] = context.run


quiet = _Quiet()


# -- dtype -------------------------------------------------------------------------------------------------------------


def result_type(*operands: Tensor) -> DType:
    """``torch.result_type`` of tensors: wrapped numbers have the lowest priority, then 0-dim tensors."""
    first = operands[0]
    dtype, alike = first._dtype, not (first._wrapped_number and operands[-1]._wrapped_number)
    for tensor in operands:
        alike = alike and tensor._dtype is dtype
    return dtype if alike else result_type_of(tuple([(t._dtype, _rank(t)) for t in operands]))


def _rank(tensor: Tensor) -> int:
    return 2 if tensor._size else 0 if tensor._wrapped_number else 1


def float_type(dtype: DType) -> DType:
    """The dtype itself if it is floating or complex, the default dtype for integers and bool."""
    return dtype if dtype.can_require_grad else default_dtype()


def not_implemented(kernel: str, dtype: DType) -> NotImplementedError:
    """The error of a kernel that has no loop for a dtype (``AT_DISPATCH_*``)."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.legacy}'")


def no_instance(kernel: str, dtype: DType) -> Callable[..., Any]:
    """A loop that raises NotImplementedError: operands are cast before the loop is chosen."""

    def loop(*arrays: Any) -> Any:
        raise not_implemented(kernel, dtype)

    return loop


# -- meta --------------------------------------------------------------------------------------------------------------


def elementwise(op: Structured, *operands: Tensor, dtype: DType | None = None) -> None:
    """The meta of an elementwise kernel; ``dtype`` is the dtype of the result, by default the common one."""
    if len(operands) == 1 and dtype is None and _set_output_like(op, operands[0]):
        return
    if op.variant != "functional":
        check_written(op.output, operands)
    common = dtype if dtype is not None and dtype is not bool_ else result_type(*operands)
    device = common_device(operands)
    on_cpu = device.type == "cpu"
    size, stride = result_geometry(
        tuple([_cast_geometry(t, common) for t in operands] if on_cpu else map(_size_and_stride, operands))
    )
    if op.variant == "in-place" or (op.variant == "out" and any(t is op.output for t in operands)):
        _check_broadcast_shape(op.output, size)
    made = dtype or common
    if op.variant != "functional":
        made = _output_dtype(op, made)
    if on_cpu:
        _compute_types(op, common, operands)
    op.set_output_raw_strided(size, stride, made, device)
    if op.temporary is not None:
        op.use_temporary(size, stride)


def _set_output_like(op: Structured, operand: Tensor) -> bool:
    """Set an output like the only operand, if that is contiguous and the result is a new tensor.

    Return whether it did.
    """
    size, stride = operand._size, operand._stride
    if op.variant != "functional" or not size or stride != CONTIGUOUS_STRIDES[size]:
        return False
    op.set_output_raw_strided(size, stride, operand._dtype, operand._device)
    return True


def _compute_types(op: Structured, common: DType, operands: tuple[Tensor, ...]) -> None:
    """Create a temporary for an output that does not have the common dtype, and casts of operands that do not.

    A bool output takes the result of a comparison without a temporary.
    """
    if op.variant != "functional" and op.output._dtype is not common and op.output._dtype is not bool_:
        op.temporary = ops.empty_like.call(op.output, common, None, None, None, "contiguous_format")
    if any(t._dtype is not common for t in operands):
        casts = ((t, ops.to_dtype.call(t, common, False, False, None)) for t in operands if t._dtype is not common)
        op.operands = (*op.operands, *casts)


def keep_number(op: Structured, number: Tensor) -> None:
    """Keep a 0-dim CPU operand of half or bfloat16 arithmetic as it was before the cast (``original_scalar_value``)."""
    if op.operands and not number._size and number._device.type == "cpu":
        op.operands = tuple(pair for pair in op.operands if pair[0] is not number or pair[1]._dtype not in REDUCED)


_size_and_stride: Callable[[Tensor], Geometry] = attrgetter("_size", "_stride")


def _cast_geometry(tensor: Tensor, common: DType) -> Geometry:
    """The geometry of an operand on the CPU, or of its copy if it must be cast."""
    if tensor._dtype is common:
        return tensor._size, tensor._stride
    return tensor._size, dense_strides_like(tensor._size, tensor._stride)


def _output_dtype(op: Structured, dtype: DType) -> DType:
    """The dtype of the output: a given output keeps its own. Raise RuntimeError if the result cannot be cast to it."""
    if op.variant == "functional":
        return dtype
    check_can_cast(dtype, op.output)
    return op.output._dtype


def check_can_cast(dtype: DType, output: Tensor) -> None:
    """Raise RuntimeError if a result of a dtype cannot be cast to that of a tensor."""
    if not can_cast(dtype, output._dtype):
        raise RuntimeError(
            f"result type {dtype.legacy} can't be cast to the desired output type {output._dtype.legacy}"
        )


def _check_broadcast_shape(output: Tensor, size: Size) -> None:
    """Raise RuntimeError if the output would have to be broadcast to another shape."""
    if output._size != size:
        raise _wrong_shape(output, size)


def _wrong_shape(output: Tensor, size: Size) -> RuntimeError:
    return RuntimeError(f"output with shape {list(output._size)} doesn't match the broadcast shape {list(size)}")


def elementwise_binary(op: Structured, a: Tensor, b: Tensor) -> None:
    """``elementwise`` of two operands, with fast paths for two contiguous tensors that are alike, and for a new result
    on the CPU without casts.
    """
    size, stride, dtype, device = a._size, a._stride, a._dtype, a._device
    if (
        b._dtype is dtype
        and b._device is device
        and b._size == size
        and b._stride == stride == CONTIGUOUS_STRIDES[size]
        and size
        and (op.variant == "functional" or (op.output is a and a._storage is not b._storage))
    ):
        op.set_output_raw_strided(size, stride, dtype, device)
    elif (
        b._dtype is dtype
        and b._device is device
        and op.variant == "functional"
        and device.type == "cpu"
        and not (a._wrapped_number and b._wrapped_number)
    ):
        size, stride = result_geometry(((size, stride), (b._size, b._stride)))
        op.set_output_raw_strided(size, stride, dtype, device)
    else:
        elementwise(op, a, b)


def elementwise_float(op: Structured, *operands: Tensor) -> None:
    """The meta of a kernel with floating results: integers give the default dtype."""
    if len(operands) == 1 and operands[0]._dtype.can_require_grad and _set_output_like(op, operands[0]):
        return
    elementwise(op, *operands, dtype=float_type(result_type(*operands)))


def elementwise_same(op: Structured, operand: Tensor) -> None:
    """The meta of a kernel of one tensor without casts. Raise RuntimeError if an ``out=`` tensor has another dtype."""
    if op.variant == "out":
        check_same_dtype(op.output, operand._dtype)
    elementwise(op, operand)


def check_same_dtype(output: Tensor, dtype: DType) -> None:
    """Raise RuntimeError if an output has another dtype, for iterators without casts (``check_all_same_dtype``)."""
    if output._dtype is not dtype:
        raise RuntimeError(f"Found dtype {output._dtype.legacy} but expected {dtype.legacy}")


def check_written(output: Tensor, operands: tuple[Tensor, ...]) -> None:
    """Raise RuntimeError if the output is on another device than the operands, or overlaps itself or one of them."""
    common_device((output, *operands))
    check_no_internal_overlap(output)
    check_no_partial_overlap(output, operands)


def elementwise_with_number(op: Structured, self: Tensor, number: Scalar, dtype: DType) -> None:
    """The meta of a kernel of a tensor and a Python number, which is wrapped."""
    if op.variant != "functional":
        check_written(op.output, (self,))
    wrapped, device = wrapped_scalar_tensor(number), self._device
    common = result_type(self, wrapped)
    cast = _cast_geometry(self, common) if device.type == "cpu" else (self._size, self._stride)
    size, stride = result_geometry((cast, ((), ())))
    made = _output_dtype(op, dtype)
    if device.type == "cpu":
        _compute_types(op, common, (self, wrapped))
    op.operands = (*op.operands, (number, op.read(wrapped)[0]))
    op.set_output_raw_strided(size, stride, made, device)
    if op.temporary is not None:
        op.use_temporary(size, stride)


def out_elementwise(out: Tensor, *operands: Tensor, same: bool = False, dtype: DType | None = None) -> Sequence[Tensor]:
    """Check the ``out=`` tensor of a kernel that is not structured, and resize it to the result's shape. Return the
    operands.

    ``same``: refuse casts. ``dtype``: return the operands as ``cast_operands`` does.
    """
    check_written(out, operands)
    size, stride = result_geometry(tuple([(t._size, t._stride) for t in operands]))
    if same:
        check_same_dtype(out, operands[0]._dtype)
    cast = operands if dtype is None else cast_operands(dtype, *operands)
    if out._size != size:
        if any(operand is out for operand in operands):
            raise _wrong_shape(out, size)
        images = all(t._size == size and is_channels_last(size, t._stride) for t in operands)
        resize_output(out, size, stride if images else contiguous_strides(size))
        if stride != out._stride:
            ops.as_strided_.call(out, size, stride, None)
    return cast


def cast_operands(dtype: DType, *operands: Tensor) -> list[Tensor]:
    """The operands, cast as an iterator casts them on the CPU before it allocates. On CUDA the loop casts."""
    on_cpu = common_device(operands).type == "cpu"
    return [t if t._dtype is dtype or not on_cpu else ops.to_dtype.call(t, dtype, False, False, None) for t in operands]


def new_output(*operands: Tensor, dtype: DType | None = None) -> Tensor:
    """The new output that an iterator of a kernel that is not structured allocates."""
    size, stride = result_geometry(tuple([(t._size, t._stride) for t in operands]))
    dtype, device = dtype or result_type(*operands), common_device(operands)
    if stride == contiguous_strides(size):
        return ops.empty_memory_format.call(size, dtype, None, device, None, None)
    return ops.empty_strided.call(size, stride, dtype, None, device, None)


def common_device(operands: tuple[Tensor, ...]) -> Device:
    """The device of the result. A 0-dim CPU tensor may be combined with tensors on another device.

    Raise RuntimeError if tensors are on different devices otherwise.
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
            if scalars > 1 and common.type != "meta":
                raise RuntimeError("Trying to pass too many CPU scalars to non-CPU kernel!")
        elif tensor._device != common:
            if common.type == "meta":
                check_same_device(*operands)
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {common} and "
                f"{tensor._device}!"
            )
    return common


# -- impl --------------------------------------------------------------------------------------------------------------


def loop(function: Any, out: Tensor, dtype: DType, *operands: Tensor) -> None:
    """Run a NumPy function, or its namesake in the device's array library, over operands cast to ``dtype``, and write
    to ``out``.
    """
    kind = out._device.type
    if len(operands) == 1 and kind == "cpu" and operands[0]._dtype is dtype is out._dtype:
        (only,) = operands
        if only._storage is not out._storage:
            quiet.run(function, only._array, out._array)  # the common case
            return
    if kind != "cpu":
        function = getattr(array_module(kind), function.__name__)
    if out._dtype is dtype:
        device = out._device
        arrays = [t._array if t._dtype is dtype and t._device is device else operand(t, dtype, kind) for t in operands]
        if kind == "cpu" and reads_what_it_writes(out, *operands):
            quiet.run(element_by_element, function, out._array, arrays)
        else:
            quiet.run(function, *arrays, out._array)
    else:
        compute(out, dtype, function, *operands)


def binary_loop(function: Any, out: Tensor, a: Tensor, b: Tensor) -> None:
    """``loop`` in the common dtype of two operands, with a fast path if nothing must be cast on the CPU."""
    dtype = out._dtype
    if a._dtype is not dtype or b._dtype is not dtype:
        loop(function, out, result_type(a, b), a, b)
    elif out._device.type == "cpu" and b._storage is not out._storage:
        quiet.run(function, a._array, b._array, out._array)
    else:
        loop(function, out, dtype, a, b)


def loop_with_number(
    function: Callable[[Any, Any], Any], out: Tensor, dtype: DType, self: Tensor, number: Tensor
) -> None:
    """``compute`` in half or bfloat16 with a 0-dim CPU tensor as the second operand, which is not rounded."""
    value = quiet.run(float32.numpy.type, number._array.item())
    compute(out, dtype, lambda array: function(array, value), self)


def compute(out: Tensor, dtype: DType, function: Callable[..., Any], *operands: Tensor, narrow: bool = False) -> None:
    """Write ``function(arrays of the operands in dtype)`` to ``out``; ``dtype`` is also the dtype of the result.

    Half and bfloat16 are computed as float32 and rounded once; with ``narrow`` every step is rounded.
    """
    target = temporary(out, dtype)
    within = dtype if narrow else accumulated(dtype)
    if target is out and out._device.type == "cpu" and reads_what_it_writes(out, *operands) and within is dtype:
        arrays = [operand(t, dtype, "cpu") for t in operands]
        quiet.run(element_by_element, function, out._array, arrays)
        return
    arrays = [converted(operand(t, dtype, out._device.type), within) for t in operands]
    store(target, quiet.run(function, *arrays))
    if target is not out:
        ops.copy_.call(out, target, False)


def accumulated(dtype: DType) -> DType:
    """The dtype in which sums, and all but the simplest functions, of a dtype are computed."""
    return float32 if dtype in REDUCED else dtype


def temporary(out: Tensor, dtype: DType) -> Tensor:
    """The tensor in which a CPU loop computes: ``out``, or a new one of the common dtype."""
    if out._dtype is dtype or out._device.type != "cpu":
        return out
    return ops.empty_like.call(out, dtype, None, None, None, "contiguous_format")


def operand(tensor: Tensor, dtype: DType, device_type: str) -> Any:
    """A tensor's array in a dtype, for a loop on a device; a 0-dim CPU tensor is moved to a GPU."""
    if device_type == "cpu":
        return tensor._array if tensor._dtype is dtype else cast(tensor, dtype)
    xp = array_module(device_type)
    array = tensor._array if type(tensor._array) is xp.ndarray else xp.asarray(tensor._array)
    return converted(array, dtype)


def cast(tensor: Tensor, dtype: DType) -> Any:
    """The array of ``tensor.to(dtype)``."""
    return ops.to_dtype.call(tensor, dtype, False, False, None)._array


def converted(array: Any, dtype: DType) -> Any:
    """An array cast to a dtype as in C++: complex to real drops the imaginary part.

    Half and bfloat16 are created from float32, so wider dtypes are rounded twice.
    """
    if array.dtype == dtype.numpy:
        return array
    if array.dtype.kind == "c" and dtype.numpy.kind not in "cb":
        array = array.real
    if dtype in REDUCED and array.dtype.itemsize == 8:
        array = quiet.run(array.astype, numpy.float32)
    return quiet.run(array.astype, dtype.numpy)


def store(out: Tensor, values: Any) -> None:
    """Write an array or a number into a tensor's memory, cast as in C++."""
    if getattr(values, "dtype", out._dtype.numpy) != out._dtype.numpy:
        values = converted(values, out._dtype)
    out._array[...] = values
