"""Adam, SGD and Adagrad steps of the fused optimizers on the CPU (``aten/src/ATen/native/cpu/Fused*Kernel.cpp``).

Each function takes the flat arrays of one parameter and writes into them. Half and bfloat16 are computed as float32 and
rounded when they are written. Sums of products are rounded once (``fma.py``), both in whole vectors of 32 bytes and in
the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from msgspec import Struct

from dispatchviz.core.native.arithmetic.fma import fma
from dispatchviz.core.tensor.dtype import REDUCED, DType

_VECTOR = 32
"""The bytes of an AVX2 vector, which PyTorch uses even if the processor has AVX-512."""


class AdamOptions(Struct, frozen=True):
    """Hyperparameters of ``_fused_adam_`` and ``_fused_adamw_``; ``decoupled`` is True for the latter."""

    lr: float
    beta1: float
    beta2: float
    weight_decay: float
    eps: float
    amsgrad: bool
    maximize: bool
    decoupled: bool


class SgdOptions(Struct, frozen=True):
    """Hyperparameters of ``_fused_sgd_``."""

    weight_decay: float
    momentum: float
    lr: float
    dampening: float
    nesterov: bool
    maximize: bool
    is_first_step: bool


class AdagradOptions(Struct, frozen=True):
    """Hyperparameters of ``_fused_adagrad_``."""

    lr: float
    lr_decay: float
    weight_decay: float
    eps: float
    maximize: bool


class Loop(Struct, frozen=True):
    """One of a kernel's two loops: over ``whole`` vectors, or over the rest."""

    whole: bool
    dtype: DType

    def number(self, value: float) -> Any:
        """A number in the dtype in which elements are computed."""
        return (numpy.float32 if self.dtype in REDUCED else self.dtype.numpy.type)(value)


def in_loops(function: Callable[..., None], dtype: DType, arrays: list[Any], *rest: Any) -> None:
    """Run a step in both loops: ``function(loop, arrays, *rest)``."""
    length = _VECTOR // dtype.itemsize
    end = arrays[0].size // length * length
    for whole, index in ((True, slice(0, end)), (False, slice(end, None))):
        parts = [array[index] for array in arrays]
        if not parts[0].size:
            continue
        wide = [part.astype(numpy.float32) for part in parts] if dtype in REDUCED else parts
        function(Loop(whole, dtype), wide, *rest)
        if wide is not parts:
            for part, values in zip(parts, wide, strict=True):
                part[...] = values.astype(part.dtype)


def _gradient(param: Any, grad: Any, scale: float | None, weight_decay: Any, maximize: bool) -> Any:
    """The gradient for the step: unscaled in place, negated if ``maximize``, with weight decay."""
    if scale is not None:
        grad /= param.dtype.type(scale)
    found = -grad if maximize else grad
    return fma(param, weight_decay, found) if weight_decay != 0 else found


def adam_step(loop: Loop, arrays: list[Any], options: AdamOptions, step: float, scale: float | None) -> None:
    """Update the parameter, both means and, for ``amsgrad``, the maximum of the second one; ``step`` counts from 1."""
    param, grad, mean, square, *max_exp_avg_sqs = arrays
    number = loop.number
    decay = 0.0 if options.decoupled else options.weight_decay
    if options.decoupled and options.weight_decay != 0:
        param *= number(1 - options.lr * options.weight_decay)
    found = _gradient(param, grad, scale, number(decay), options.maximize)
    weight, keep = number(1 - options.beta1), number(options.beta2)
    mean[...] = fma(weight, found - mean, mean) if weight < 0.5 else fma(weight - number(1), found - mean, found)
    weighted = number(1 - options.beta2) * found
    square[...] = fma(weighted, found, square * keep) if loop.whole else fma(square, keep, weighted * found)
    if options.amsgrad:
        numpy.maximum(max_exp_avg_sqs[0], square, out=max_exp_avg_sqs[0])
    root = numpy.sqrt(max_exp_avg_sqs[0] if options.amsgrad else square)
    below = root / number((1 - options.beta2**step) ** 0.5) + number(options.eps)
    param -= number(options.lr / (1 - options.beta1**step)) * mean / below


def sgd_step(loop: Loop, arrays: list[Any], options: SgdOptions, scale: float | None) -> None:
    """Update the parameter and, with momentum, its buffer.

    NB: In whole vectors, PyTorch may read the memory of a buffer of half or bfloat16 as if it were float32, beyond its
    end. Here its own numbers are read.
    """
    param, grad, *buffers = arrays
    number = loop.number
    found = _gradient(param, grad, scale, number(options.weight_decay), options.maximize)
    if options.momentum != 0:
        momentum, buffer = number(options.momentum), buffers[0]
        weight = number(1 - options.dampening)
        momentum_buffer = fma(found, weight, buffer * momentum) if loop.whole else fma(buffer, momentum, found * weight)
        buffer[...] = found if options.is_first_step else momentum_buffer
        found = fma(buffer, momentum, found) if options.nesterov else buffer
    param[...] = fma(found, number(-options.lr), param)


def adagrad_step(loop: Loop, arrays: list[Any], options: AdagradOptions, step: float, scale: float | None) -> None:
    """Update the parameter and the sum of squares so far; ``step`` counts from 1."""
    param, grad, total = arrays
    number = loop.number
    found = _gradient(param, grad, scale, number(options.weight_decay), options.maximize)
    total[...] = fma(found, found, total)
    below = numpy.sqrt(total) + number(options.eps)
    param -= number(options.lr / (1 + (step - 1) * options.lr_decay)) * found / below
