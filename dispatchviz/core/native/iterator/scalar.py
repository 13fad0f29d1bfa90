"""``Scalar``: wrapped numbers, conversion to a dtype and its overflow check (``c10/core/Scalar.h``,
``c10/util/TypeCast.h``)."""

from __future__ import annotations

import math
from typing import Any

import numpy

from dispatchviz.core.device.device import CPU, Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.dtype import REDUCED, DType, c_name, float32, of_scalar
from dispatchviz.core.tensor.tensor import Tensor, allocated

Scalar = bool | int | float | complex

MAXIMUM = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "complex64": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
}
"""The largest finite number of a dtype."""


def wrapped_scalar_tensor(value: Scalar, device: Device = CPU) -> Tensor:
    """A Python number as a 0-dim tensor with the lowest priority in type promotion.

    On the CPU it is created directly, on other devices by ``scalar_tensor`` through the dispatcher.
    """
    if device.type == "cpu":
        tensor = allocated((), (), of_scalar(value), CPU)
        tensor._array[...] = value
        tensor._wrapped_number = True
        if recorder.active is not None:
            recorder.active.tensor_created(tensor)
    else:
        tensor = ops.scalar_tensor.call(value, of_scalar(value), None, device, None)
    tensor._wrapped_number = True
    return tensor


def convert(value: Scalar, dtype: DType) -> Scalar:
    """A number as C++ would hold it in ``dtype``: floats are truncated to integers, negative numbers wrap around in
    unsigned dtypes. C++ makes half and bfloat16 from a float, so a Python number is rounded to that first.

    Raise RuntimeError if it does not fit.
    """
    if dtype.name == "bool":
        return bool(value)
    if isinstance(value, complex) and not dtype.is_complex:
        if value.imag:
            raise _overflow(dtype)
        value = value.real
    if dtype.can_require_grad:
        _check_floating(value, dtype)
        if dtype.is_complex:
            return complex(value)
        return float(numpy.float32(value.real)) if dtype in REDUCED else float(value.real)
    return _to_integer(value.real, dtype)


def in_one_element(value: Scalar, dtype: DType) -> Any:
    """A number as ``scalar_fill`` writes it into a single element on the CPU: half and bfloat16 overflow to infinity.

    Raise RuntimeError if it does not fit another dtype.
    """
    if dtype not in REDUCED or isinstance(value, complex):
        return convert(value, dtype)
    with numpy.errstate(over="ignore"):
        return dtype.numpy.type(numpy.float32(value))


def element(value: Scalar, dtype: DType) -> Any:
    """A number as an element of an array. Raise RuntimeError if it does not fit."""
    return dtype.numpy.type(convert(value, dtype))


def opmath(value: Scalar, dtype: DType) -> Any:
    """A number as a kernel computes with it (``opmath_type``): float32 for half and bfloat16."""
    return element(value, float32 if dtype in REDUCED else dtype)


def _check_floating(value: Scalar, dtype: DType) -> None:
    maximum = MAXIMUM.get(dtype.name, math.inf)
    for part in (float(value.real), float(value.imag)):
        if math.isfinite(part) and abs(part) > maximum:
            raise _overflow(dtype)


def _to_integer(value: bool | int | float, dtype: DType) -> int:
    bits = 8 * dtype.itemsize
    low, high = (
        (-(1 << bits) + 1, (1 << bits) - 1) if dtype.name == "uint8" else (-(1 << bits - 1), (1 << bits - 1) - 1)
    )
    if isinstance(value, float) and dtype.name == "uint8":
        low = 0
    if not (low <= value <= high):  # also for nan
        raise _overflow(dtype)
    return int(value) & 0xFF if dtype.name == "uint8" else int(value)


def _overflow(dtype: DType) -> RuntimeError:
    return RuntimeError(f"value cannot be converted to type {c_name(dtype)} without overflow")
