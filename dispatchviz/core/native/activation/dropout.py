"""Dropout: ``dropout``, ``feature_dropout``, ``alpha_dropout``, ``native_dropout``
(``aten/src/ATen/native/Dropout.cpp``, ``cuda/Dropout.cu``).

Plain dropout multiplies by a mask of 0 and 1 / (1 - p). ``feature`` variants drop whole channels. ``alpha`` variants
put a negative number in the place of a dropped element, so that mean and variance are preserved.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import quiet, store
from dispatchviz.core.native.random import distributions_helper
from dispatchviz.core.native.random.uniform_normal import fill, generator_of
from dispatchviz.core.tensor.dtype import bool_
from dispatchviz.core.tensor.tensor import Size, Tensor, numel

_ALPHA = 1.7580993408473766
"""The scale of SELU times its alpha: SELU of a large negative element is minus this number."""


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Randomly zero elements with probability p.

    Return the input itself outside of training. CUDA uses one fused kernel.
    """
    if train and input._device.type == "cuda" and 0 < p < 1 and numel(input._size):
        return ops.native_dropout.call(input, p, train)[0]
    return dropout_impl(input, p, train)


def dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    """The in-place version of ``dropout``."""
    return dropout_impl(self, p, train, inplace=True)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Randomly zero whole channels."""
    return dropout_impl(input, p, train, feature=True)


def feature_dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    """Randomly zero whole channels, in place."""
    return dropout_impl(self, p, train, feature=True, inplace=True)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Apply alpha dropout, which preserves mean and variance in networks of SELU."""
    return dropout_impl(input, p, train, alpha=True)


def alpha_dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    """Apply alpha dropout in place."""
    return dropout_impl(self, p, train, alpha=True, inplace=True)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Apply alpha dropout to whole channels."""
    return dropout_impl(input, p, train, feature=True, alpha=True)


def feature_alpha_dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    """Apply alpha dropout to whole channels, in place."""
    return dropout_impl(self, p, train, feature=True, alpha=True, inplace=True)


def plain_noise(input: Tensor, p: float, feature: bool) -> Tensor:
    """The mask of dropout: 1 where an element is kept, else 0."""
    noise = _channels(input) if feature else ops.empty_like.call(input, None, None, None, None, None)
    return ops.bernoulli__float.call(noise, 1 - p, None)


def dropout_impl(
    input: Tensor,
    p: float,
    train: bool,
    feature: bool = False,
    alpha: bool = False,
    inplace: bool = False,
    noise_like: Callable[[Tensor, float, bool], Tensor] = plain_noise,
) -> Tensor:
    """The common implementation of all variants (``_dropout_impl``). Raise RuntimeError if p is not a probability."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    if p == 0 or not train or not numel(input._size):
        return input
    multiplied = ops.mul__Tensor if inplace else ops.mul_Tensor
    if p == 1:
        return multiplied.call(input, ops.zeros.call((), input._dtype, "strided", input._device, None))
    noise = noise_like(input, p, feature)
    if not alpha:
        return multiplied.call(input, ops.div__Scalar.call(noise, 1 - p))
    scale = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = ops.mul__Scalar.call(ops.add_Scalar.call(noise, -1, 1), _ALPHA * scale)
    shift = ops.add__Scalar.call(shift, _ALPHA * scale * p, 1)
    ops.mul__Scalar.call(noise, scale)
    return ops.add__Tensor.call(multiplied.call(input, noise), shift, 1)


def _channels(input: Tensor) -> Tensor:
    return ops.new_empty.call(input, channels_size(input), None, None, None, None)


def channels_size(input: Tensor) -> Size:
    """The shape of a mask with one number per example and channel. Raise RuntimeError if there are no channels."""
    if len(input._size) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*input._size[:2], *(1 for _ in input._size[2:]))


# -- dropout with its mask ---------------------------------------------------------------------------------------------


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Dropout and its mask."""
    if not numel(input._size):
        return input, ops.empty_like.call(input, bool_, None, None, None, None)
    if train is False:
        mask = ops.ones_like.call(input, bool_, None, None, None, None)
        return ops.clone.call(input, None), mask
    mask = ops.bernoulli__float.call(ops.empty_like.call(input, bool_, None, None, None, None), 1 - p, None)
    kept = ops.mul_Tensor.call(input, mask)
    return ops.mul__Scalar.call(kept, 0.0 if p == 1 else 1 / (1 - p)), mask


def native_dropout_cuda(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Dropout and its mask by one fused kernel."""
    if not numel(input._size):
        return input, ops.empty_like.call(input, None, None, None, None, None)
    if train is False or p == 0:
        return input, ops.ones_like.call(input, bool_, None, None, None, None)
    if p == 1:
        zeros = ops.zeros_like.call(input, None, None, None, None, None)
        return zeros, ops.zeros_like.call(input, bool_, None, None, None, None)
    output = ops.empty_like.call(input, None, None, None, None, None)
    mask = ops.empty_like.call(input, bool_, None, None, None, None)
    fill(mask, distributions_helper.uniform(generator_of(mask, None), numel(mask._size), False) < 1 - p)
    store(output, quiet.run(lambda: input._array * mask._array / (1 - p)))
    return output, mask


def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """grad * mask * scale."""
    return ops.mul_Scalar.call(ops.mul_Tensor.call(grad_output, mask), scale)
