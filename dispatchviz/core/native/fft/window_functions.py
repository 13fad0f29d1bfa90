"""``hann_window``, ``hamming_window``, ``bartlett_window``, ``blackman_window``, ``kaiser_window``
(``aten/src/ATen/native/TensorFactories.cpp``).

A periodic window is the symmetric window of one more element, without its last element.
"""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.device.device import Device, concrete
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.factories.arange import arange
from dispatchviz.core.native.factories.empty_full import ones
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, quiet, store
from dispatchviz.core.tensor.dtype import DType, default_dtype, type_meta_name
from dispatchviz.core.tensor.tensor import Tensor

Options = tuple[DType | None, str | None, Device | None, bool | None]
"""The tensor options dtype, layout, device, pin_memory."""

# -- hann, hamming -----------------------------------------------------------------------------------------------------


def hann_window(window_length: int, *options: *Options) -> Tensor:
    """The periodic Hann window."""
    return hann_window_periodic(window_length, True, *options)


def hann_window_periodic(window_length: int, periodic: bool, *options: *Options) -> Tensor:
    """The Hann window: 0.5 - 0.5 * cosine."""
    _check("hann_window", window_length, *options)
    return _cosine_window(window_length, periodic, 0.5, 0.5, *options)


def hamming_window(window_length: int, *options: *Options) -> Tensor:
    """The periodic Hamming window: 0.54 - 0.46 * cosine."""
    return hamming_window_periodic_alpha_beta(window_length, True, 0.54, 0.46, *options)


def hamming_window_periodic(window_length: int, periodic: bool, *options: *Options) -> Tensor:
    """The Hamming window: 0.54 - 0.46 * cosine."""
    return hamming_window_periodic_alpha_beta(window_length, periodic, 0.54, 0.46, *options)


def hamming_window_periodic_alpha(window_length: int, periodic: bool, alpha: float, *options: *Options) -> Tensor:
    """The Hamming window with a given alpha: alpha - 0.46 * cosine."""
    return hamming_window_periodic_alpha_beta(window_length, periodic, alpha, 0.46, *options)


def hamming_window_periodic_alpha_beta(
    window_length: int, periodic: bool, alpha: float, beta: float, *options: *Options
) -> Tensor:
    """The Hamming window with given coefficients: alpha - beta * cosine."""
    _check("hamming_window", window_length, *options)
    return _cosine_window(window_length, periodic, alpha, beta, *options)


def _cosine_window(length: int, periodic: bool, alpha: float, beta: float, *options: *Options) -> Tensor:
    if length < 2:
        return _short(length, *options)
    length += periodic
    window = ops.mul__Scalar.call(arange(length, *_typed(options)), math.pi * 2.0 / (length - 1))
    window = ops.mul__Scalar.call(ops.cos_.call(window), -beta)
    return _shortened(ops.add__Scalar.call(window, alpha, 1), length, periodic)


# -- bartlett, blackman ------------------------------------------------------------------------------------------------


def bartlett_window(window_length: int, *options: *Options) -> Tensor:
    """The periodic Bartlett window, a triangle."""
    return bartlett_window_periodic(window_length, True, *options)


def bartlett_window_periodic(window_length: int, periodic: bool, *options: *Options) -> Tensor:
    """The Bartlett window, a triangle."""
    _check("bartlett_window", window_length, *options)
    if window_length < 2:
        return _short(window_length, *options)
    window_length += periodic
    indices = arange(window_length, *_typed(options))
    window = ops.mul__Scalar.call(indices, 2.0 / (window_length - 1))
    half = ((window_length - 1) >> 1) + 1
    falling = ops.mul__Scalar.call(ops.narrow.call(window, 0, half, window_length - half), -1)
    ops.add__Scalar.call(falling, 2, 1)
    return _shortened(window, window_length, periodic)


def blackman_window(window_length: int, *options: *Options) -> Tensor:
    """The periodic Blackman window, made of two cosines."""
    return blackman_window_periodic(window_length, True, *options)


def blackman_window_periodic(window_length: int, periodic: bool, *options: *Options) -> Tensor:
    """The Blackman window: 0.08 * one cosine - 0.5 * another one + 0.42."""
    _check("blackman_window", window_length, *options)
    if window_length < 2:
        return _short(window_length, *options)
    window_length += periodic
    indices = arange(window_length, *_typed(options))
    indices = ops.mul__Scalar.call(indices, math.pi / (window_length - 1))
    slow = ops.mul__Scalar.call(ops.cos_.call(ops.mul_Scalar.call(indices, 2)), 0.5)
    fast = ops.mul__Scalar.call(ops.cos_.call(ops.mul_Scalar.call(indices, 4)), 0.08)
    window = ops.add_Scalar.call(ops.sub_Tensor.call(fast, slow, 1), 0.42, 1)
    return _shortened(window, window_length, periodic)


# -- kaiser ------------------------------------------------------------------------------------------------------------


def kaiser_window(window_length: int, *options: *Options) -> Tensor:
    """The periodic Kaiser window with beta 12."""
    return kaiser_window_beta(window_length, True, 12.0, *options)


def kaiser_window_periodic(window_length: int, periodic: bool, *options: *Options) -> Tensor:
    """The Kaiser window with beta 12."""
    return kaiser_window_beta(window_length, periodic, 12.0, *options)


def kaiser_window_beta(window_length: int, periodic: bool, beta: float, *options: *Options) -> Tensor:
    """The Kaiser window: I0(beta * sqrt(1 - x ** 2)) / I0(beta), with x from -1 to 1."""
    _check("kaiser_window", window_length, *options)
    if window_length < 2:
        return _short(window_length, *options)
    window_length += periodic
    indices = ops.arange.call(window_length, *_typed(options))
    window = _empty(window_length, *options)
    if window._array is not None:
        xp: Any = array_module(window._device.type)
        middle = (window_length - 1) / 2.0
        distance = (indices._array.astype(accumulated(window._dtype).numpy) - middle) / middle
        root = quiet.run(lambda: xp.sqrt(xp.maximum(1 - distance * distance, 0)))
        store(window, xp.i0(beta * root) / xp.i0(xp.asarray(beta)))
    return _shortened(window, window_length, periodic)


# -- shared ------------------------------------------------------------------------------------------------------------


def _typed(options: Options) -> Options:
    return (options[0] or default_dtype(), *options[1:])


def _empty(length: int, *options: *Options) -> Tensor:
    dtype, layout, device, pin_memory = _typed(options)
    return ops.empty_memory_format.call((length,), dtype, layout, device, pin_memory, None)


def _short(length: int, *options: *Options) -> Tensor:
    """The window of no element or one."""
    if length == 0:
        return _empty(0, *options)
    return ones((1,), *_typed(options))


def _shortened(window: Tensor, length: int, periodic: bool) -> Tensor:
    return ops.narrow.call(window, 0, 0, length - 1) if periodic else window


def _check(name: str, length: int, *options: *Options) -> None:
    """The checks of a window's length and options (``window_function_checks``)."""
    dtype, _, device, _ = options
    if dtype is not None and not dtype.can_require_grad:
        raise RuntimeError(
            f"{name} expects floating point dtypes, got: TensorOptions(dtype={type_meta_name(dtype)}, device="
            f"{concrete(device or Device('cpu'))}, layout=Strided (default), requires_grad=false (default), "
            "pinned_memory=false, memory_format=(nullopt))"
        )
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
