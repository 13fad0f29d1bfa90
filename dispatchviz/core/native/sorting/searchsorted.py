"""``searchsorted``, ``bucketize`` (``aten/src/ATen/native/Bucketization.cpp``)."""

from __future__ import annotations

from typing import Any

import numpy

from dispatchviz.core.call.structured import resize_output
from dispatchviz.core.device.array_library import array_module, module_of
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.arithmetic.binary_ops import wrapped_scalar_tensor
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.tensor_iterator import quiet, result_type
from dispatchviz.core.tensor.dtype import int32, int64
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides, numel
from dispatchviz.core.thread.warning import first_time, warn_python

# -- searchsorted ------------------------------------------------------------------------------------------------------


def searchsorted_Tensor(
    sorted_sequence: Tensor, self: Tensor, out_int32: bool, right: bool, side: str | None, sorter: Tensor | None
) -> Tensor:
    """The index at which each value would be inserted into the sequence, or into that of its row."""
    dtype = int32 if out_int32 else int64
    result = ops.empty_memory_format.call((0,), dtype, "strided", self._device, None, "contiguous_format")
    return searchsorted_out_Tensor_out(sorted_sequence, self, out_int32, right, side, sorter, result)


def searchsorted_Scalar(
    sorted_sequence: Tensor, self: Scalar, out_int32: bool, right: bool, side: str | None, sorter: Tensor | None
) -> Tensor:
    """The index at which a number would be inserted into the sequence."""
    number = _number(self, sorted_sequence)
    return searchsorted_Tensor(sorted_sequence, number, out_int32, right, side, sorter)


def searchsorted_out_Scalar_out(
    sorted_sequence: Tensor,
    self: Scalar,
    out_int32: bool,
    right: bool,
    side: str | None,
    sorter: Tensor | None,
    out: Tensor,
) -> Tensor:
    """The ``out=`` version of ``searchsorted``."""
    number = _number(self, sorted_sequence)
    return searchsorted_out_Tensor_out(sorted_sequence, number, out_int32, right, side, sorter, out)


def _number(value: Scalar, like: Tensor) -> Tensor:
    number = wrapped_scalar_tensor(value)
    if like._device.type == "cpu":
        return number
    return ops.to_dtype_layout.call(number, None, None, like._device, None, False, False, None)


def searchsorted_out_Tensor_out(
    sorted_sequence: Tensor,
    self: Tensor,
    out_int32: bool,
    right: bool,
    side: str | None,
    sorter: Tensor | None,
    out: Tensor,
) -> Tensor:
    """Write ``searchsorted`` into ``out``, which is resized."""
    _check_side(side, right)
    _check_devices(sorted_sequence, self)
    _check_sorter(sorted_sequence, sorter)
    _check_shapes(sorted_sequence, self)
    _check_output(out, out_int32)
    if out._size != self._size:
        resize_output(out, self._size, contiguous_strides(self._size))
    if not numel(self._size):
        return out
    target = out if out._is_contiguous else ops.contiguous.call(out, "contiguous_format")
    values, boundaries, order = _trimmed(self, sorted_sequence, sorter)
    from_right = right if side is None else side == "right"
    target._array[...] = _searched(values, boundaries, order, from_right)
    return out if target is out else ops.copy_.call(out, target, False)


def _check_side(side: str | None, right: bool) -> None:
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )


def _check_devices(boundaries: Tensor, values: Tensor) -> None:
    if boundaries._device != values._device:
        raise RuntimeError(
            "torch.searchsorted(): boundaries and input value tensors should have same device type, but got "
            f"boundaries tensor device type {boundaries._device} and input value tensor device type {values._device}"
        )


def _check_sorter(boundaries: Tensor, sorter: Tensor | None) -> None:
    if sorter is None:
        return
    if sorter._size != boundaries._size:
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
            f"{list(boundaries._size)}and got sorter tensor {list(sorter._size)}"
        )
    if sorter._dtype is not int64:
        raise RuntimeError(
            f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter._dtype.legacy}"
        )
    if not numel(sorter._size):
        return
    least, most = [ops.item.call(value).real for value in ops.aminmax.call(sorter, None, False)]
    if least < 0 or most >= sorter._size[-1]:
        raise RuntimeError("torch.searchsorted(): sorter index out of range")


def _check_shapes(boundaries: Tensor, values: Tensor) -> None:
    if not values._size and len(boundaries._size) != 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({len(boundaries._size)}) and input value's dim(0) numel(1)"
        )
    if not boundaries._size:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension"
        )
    if len(boundaries._size) != 1 and boundaries._size[:-1] != values._size[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(boundaries._size)} and "
            f"input value tensor {list(values._size)}"
        )


def _check_output(out: Tensor, out_int32: bool) -> None:
    if out._dtype is not (int32 if out_int32 else int64):
        raise RuntimeError(
            "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending "
            f"on whether out_int32 flag is True, but we got output tensor's dtype {out._dtype.legacy} and out_int32 "
            f"flag is {out_int32}"
        )


def _trimmed(values: Tensor, boundaries: Tensor, sorter: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """The arguments, contiguous and of one dtype (``searchsorted_maybe_trim_input_tensors``)."""
    dtype = values._dtype if values._dtype is boundaries._dtype else result_type(boundaries, values)
    values = _dense(values, "input value", "input value ", 32)
    boundaries = _dense(boundaries, "boundary", "boundary ", 38)
    sorter = None if sorter is None else _dense(sorter, "sorter", "sorter ", 44)
    if values._dtype is not dtype:
        values = ops.to_dtype.call(values, dtype, False, False, None)
    if boundaries._dtype is not dtype:
        boundaries = ops.to_dtype.call(boundaries, dtype, False, False, None)
    return values, boundaries, sorter


def _dense(tensor: Tensor, name: str, wanted: str, line: int) -> Tensor:
    if tensor._is_contiguous:
        return tensor
    if first_time(f"searchsorted {name}"):
        warn_python(
            f"torch.searchsorted(): {name} tensor is non-contiguous, this will lower the performance due to extra data "
            f"copy when converting non-contiguous tensor to contiguous, please use contiguous {wanted}tensor if "
            "possible. This message will only appear once per program.",
            f"aten/src/ATen/native/BucketizationUtils.h:{line}",
        )
    return ops.contiguous.call(tensor, "contiguous_format")


def _searched(values: Tensor, boundaries: Tensor, sorter: Tensor | None, right: bool) -> Any:
    """The index of the boundary before which each value would be inserted, in its row."""
    xp: Any = array_module(values._device.type)
    bounds = boundaries._array if sorter is None else xp.take_along_axis(boundaries._array, sorter._array, -1)
    columns = values._array.reshape((1, -1) if len(boundaries._size) == 1 else (-1, values._size[-1]))
    return quiet.run(_bound, bounds.reshape(len(columns), bounds.shape[-1]), columns, right).reshape(values._size)


def _bound(rows: Any, values: Any, right: bool) -> Any:
    """The bounds of all values at once (``cus_lower_bound`` or ``cus_upper_bound``). Comparisons with nan are false."""
    low = numpy.zeros_like(values, "int64")  # a CuPy array for a CuPy array
    high, last = low + rows.shape[-1], rows.shape[-1] - 1
    for _ in range(rows.shape[-1].bit_length()):
        middle = (low + high) // 2
        bound = module_of(rows).take_along_axis(rows, middle.clip(0, last), -1)
        goes_on = (low < high) & ~(bound > values if right else bound >= values)
        low, high = module_of(rows).where(goes_on, middle + 1, low), module_of(rows).where(goes_on, high, middle)
    return low


# -- bucketize ---------------------------------------------------------------------------------------------------------


def bucketize_Tensor(self: Tensor, boundaries: Tensor, out_int32: bool, right: bool) -> Tensor:
    """``searchsorted`` in one sequence."""
    dtype = int32 if out_int32 else int64
    result = ops.empty_memory_format.call((0,), dtype, "strided", self._device, None, "contiguous_format")
    return bucketize_out_Tensor_out(self, boundaries, out_int32, right, result)


def bucketize_Scalar(self: Scalar, boundaries: Tensor, out_int32: bool, right: bool) -> Tensor:
    """``bucketize`` of a number."""
    return bucketize_Tensor(_number(self, boundaries), boundaries, out_int32, right)


def bucketize_out_Tensor_out(self: Tensor, boundaries: Tensor, out_int32: bool, right: bool, out: Tensor) -> Tensor:
    """The ``out=`` version of ``bucketize``."""
    if len(boundaries._size) != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({len(boundaries._size)})")
    return searchsorted_out_Tensor_out(boundaries, self, out_int32, right, None, None, out)
