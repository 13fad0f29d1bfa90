"""``arange``, ``range`` (``aten/src/ATen/native/RangeFactories.cpp``, ``arange`` of ``TensorFactories.cpp``)."""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, store
from dispatchviz.core.tensor.dtype import Category, DType, bool_, int64
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.thread.warning import warn_python


def arange(
    end: Scalar, dtype: DType | None, layout: str | None, device: Device | None, pin_memory: bool | None
) -> Tensor:
    """The integers from 0 to before ``end``."""
    return arange_start_step(0, end, 1, dtype, layout, device, pin_memory)


def arange_start(
    start: Scalar,
    end: Scalar,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """Numbers from ``start`` to before ``end``, with a step of 1."""
    return arange_start_step(start, end, 1, dtype, layout, device, pin_memory)


def arange_start_step(
    start: Scalar,
    end: Scalar,
    step: Scalar,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """Numbers from ``start`` to before ``end``. Integers give int64 if no dtype is requested."""
    if dtype is None and all(isinstance(number, int) for number in (start, end, step)):
        dtype = int64
    result = ops.empty_memory_format.call((0,), dtype, layout, device, pin_memory, None)
    return ops.arange_start_out.call(start, end, step, result)


def arange_out(end: Scalar, out: Tensor) -> Tensor:
    """Write numbers from 0 to before ``end`` into ``out``."""
    return ops.arange_start_out.call(0, end, 1, out)


def arange_start_out(start: Scalar, end: Scalar, step: Scalar, out: Tensor) -> Tensor:
    """Write the numbers into ``out``, which is resized.

    Raise RuntimeError for a step of 0 or in the wrong direction, NotImplementedError for some dtypes.
    """
    _refuse(out, "arange_cpu")
    count = arange_count(start, end, step)
    first, each = _real(start), _real(step)
    begin, stride = (int(first), int(each)) if out._dtype.category is Category.INTEGRAL else (first, each)
    if numel(out._size) != count:
        if numel(out._size):
            warn_python(
                f"The number of elements in the out tensor of shape {list(out._size)} is {numel(out._size)} which does "
                f"not match the computed number of elements {count}. Note that this may occur as a result of rounding "
                f"error. The out tensor will be resized to a tensor of shape ({count},).",
                "aten/src/ATen/native/RangeFactories.cpp:199",
            )
        ops.resize_.call(out, (count,), None)
    store(out, (array_module(out._device.type).arange(count) * stride + begin).reshape(out._size))
    return out


def arange_count(start: Scalar, end: Scalar, step: Scalar) -> int:
    """The number of elements.

    Raise RuntimeError for a step of 0 or in the wrong direction. A step that becomes 0 as an integer counts as given.
    """
    first, last, each = _real(start), _real(end), _real(step)
    _check(first, last, each)
    count: int = math.ceil((last - first) / each)
    return count


# -- range -------------------------------------------------------------------------------------------------------------


def range(
    start: Scalar,
    end: Scalar,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """Numbers from ``start`` to ``end``, which is included, with a step of 1."""
    return range_step(start, end, 1, dtype, layout, device, pin_memory)


def range_step(
    start: Scalar,
    end: Scalar,
    step: Scalar,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """Numbers from ``start`` to ``end``, which is included; the default dtype if none is requested."""
    result = ops.empty_memory_format.call((0,), dtype, layout, device, pin_memory, None)
    return ops.range_out.call(start, end, step, result)


def range_out_no_step(start: Scalar, end: Scalar, out: Tensor) -> Tensor:
    """Write the numbers into ``out``, with a step of 1."""
    return ops.range_out.call(start, end, 1, out)


def range_out(start: Scalar, end: Scalar, step: Scalar, out: Tensor) -> Tensor:
    """Write the numbers into ``out``, which is resized.

    Raise RuntimeError for a step of 0 or in the wrong direction, NotImplementedError for some dtypes.
    """
    _refuse(out, "range_cpu")
    first, last, each = _real(start), _real(end), _real(step)
    _check(first, last, each)
    if out._dtype.category is Category.INTEGRAL:
        first, last, each = int(first), int(last), int(each)
    count = int((last - first) / each + 1)
    if count >> 63:  # converted to int64_t, it becomes the smallest number
        raise RuntimeError(f"IntArrayRef contains an int that cannot be represented as a SymInt: {-(1 << 63)}")
    if numel(out._size) != count:
        ops.resize_.call(out, (count,), None)
    store(out, (array_module(out._device.type).arange(count) * each + first).reshape(out._size))
    return out


def _refuse(out: Tensor, kernel: str) -> None:
    if out._dtype is bool_ or out._dtype.is_complex:
        raise not_implemented(kernel, out._dtype)


def _check(first: Any, last: Any, each: Any) -> None:
    if not (each > 0 or each < 0):  # NaN is refused too
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(first) and math.isfinite(last)):
        raise RuntimeError(f"unsupported range: {first:g} -> {last:g}")
    if (last - first) * each < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def _real(number: Scalar) -> Any:
    if isinstance(number, complex):
        raise RuntimeError("value cannot be converted to type double without overflow")
    return number
