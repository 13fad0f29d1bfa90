"""``glu``, the gated linear unit, and ``rrelu``, leaky_relu with random slopes, and their gradients.

Mirrors ``aten/src/ATen/native/GatedLinearUnit.cpp`` and ``Activation.cpp``.
"""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.device.device import CPU
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.activation.selu_mish_prelu import put_floating
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.scalar import Scalar, convert
from dispatchviz.core.native.iterator.tensor_iterator import converted, elementwise, not_implemented, store
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.native.random import distributions_helper
from dispatchviz.core.native.random.generator import Generator
from dispatchviz.core.native.random.uniform_normal import generator_of
from dispatchviz.core.tensor.dtype import float64
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.tensor.tensor import empty_strided as allocate

# -- glu ---------------------------------------------------------------------------------------------------------------


def halves(tensor: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The two halves of a tensor along a dimension, as views."""
    half = tensor._size[dim] // 2
    return ops.narrow.call(tensor, dim, 0, half), ops.narrow.call(tensor, dim, half, half)


def glu_meta(op: Structured, self: Tensor, dim: int) -> None:
    """The shape of one half. Raise RuntimeError for a 0-dim tensor or an odd length."""
    if not self._size:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = wrap_dim(dim, len(self._size))
    if self._size[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {self._size[dim]}")
    elementwise(op, *halves(self, dim))


def glu_out(self: Tensor, dim: int, out: Tensor) -> None:
    """The first half times the sigmoid of the second"""
    xp: Any = array_module(self._device.type)
    dim = wrap_dim(dim, len(self._size))

    def gated(x: Any) -> Any:
        a, b = xp.split(x, 2, dim)
        return a / (1 + xp.exp(-b))

    put_floating("glu_cpu", out, gated, self)


def glu_backward(grad_output: Tensor, self: Tensor, dim: int) -> Tensor:
    """The gradient of ``glu`` for both halves."""
    grad_input = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    return glu_backward_out(grad_output, self, dim, grad_input)


def glu_backward_out(grad_output: Tensor, self: Tensor, dim: int, grad_input: Tensor) -> Tensor:
    """Write the result of ``glu_backward`` into ``grad_input``."""
    dim = wrap_dim(dim, len(self._size))
    if self._size[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {self._size[dim]}")
    ops.resize_as_.call(grad_input, self, None)
    first, second = halves(self, dim)
    grad_first, grad_second = halves(grad_input, dim)
    ops.sigmoid_out.call(second, grad_first)
    function = lambda sigmoid, grad, x: (1 - sigmoid) * sigmoid * grad * x  # noqa: E731
    put_floating("glu_backward_cpu", grad_second, function, grad_first, grad_output, first)
    ops.mul__Tensor.call(grad_first, grad_output)
    return grad_input


def glu_jvp(glu: Tensor, x: Tensor, dx: Tensor, dim: int) -> Tensor:
    """The tangent of glu."""
    xp: Any = array_module(glu._device.type)
    dim = wrap_dim(dim, len(x._size))
    _, b = halves(x, dim)
    da, db = halves(dx, dim)
    dglu = ops.empty_like.call(glu, None, None, None, None, None)

    def tangent(value: Any, gate: Any, a: Any, g: Any) -> Any:
        sigmoid = 1 / (1 + xp.exp(-gate))
        return a * sigmoid + value * (g - sigmoid * g)

    put_floating("glu_cpu", dglu, tangent, glu, b, da, db)
    return dglu


def glu_backward_jvp(grad_x: Tensor, grad_glu: Tensor, x: Tensor, dgrad_glu: Tensor, dx: Tensor, dim: int) -> Tensor:
    """The tangent of glu's gradient."""
    dim = wrap_dim(dim, len(x._size))
    a, b = halves(x, dim)
    da, db = halves(dx, dim)
    grad_a, _ = halves(grad_x, dim)
    sigmoid = ops.sigmoid.call(b)
    glu = ops.mul_Tensor.call(a, sigmoid)
    falling = ops.sub_Tensor.call(db, ops.mul_Tensor.call(db, sigmoid), 1)
    dgrad_a = ops.add_Tensor.call(ops.mul_Tensor.call(dgrad_glu, sigmoid), ops.mul_Tensor.call(grad_a, falling), 1)
    risen = ops.sub_Tensor.call(
        ops.sub_Tensor.call(da, ops.mul_Tensor.call(da, sigmoid), 1), ops.mul_Tensor.call(glu, falling), 1
    )
    second = ops.mul_Tensor.call(grad_a, risen)
    first = ops.mul_Tensor.call(dgrad_a, ops.sub_Tensor.call(a, glu, 1))
    return ops.cat.call([dgrad_a, ops.add_Tensor.call(first, second, 1)], dim)


# -- rrelu -------------------------------------------------------------------------------------------------------------


def rrelu(self: Tensor, lower: Scalar, upper: Scalar, training: bool, generator: Generator | None) -> Tensor:
    """leaky_relu with random slopes during training. Raise RuntimeError if ``lower`` is larger than ``upper``."""
    _check_order(lower, upper)
    noise = ops.empty_like.call(self, None, None, None, None, "contiguous_format")
    return ops.rrelu_with_noise.call(self, noise, lower, upper, training, generator)


def rrelu_(self: Tensor, lower: Scalar, upper: Scalar, training: bool, generator: Generator | None) -> Tensor:
    """The in-place version of ``rrelu``."""
    _check_order(lower, upper)
    noise = ops.empty_like.call(self, None, None, None, None, "contiguous_format")
    return ops.rrelu_with_noise_.call(self, noise, lower, upper, training, generator)


def _check_order(lower: Any, upper: Any) -> None:
    if not math.isfinite(lower):
        raise RuntimeError(f"rrelu: lower bound must be finite, got {lower:g}")
    if not math.isfinite(upper):
        raise RuntimeError(f"rrelu: upper bound must be finite, got {upper:g}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")


def rrelu_with_noise(
    self: Tensor, noise: Tensor, lower: Scalar, upper: Scalar, training: bool, generator: Generator | None
) -> Tensor:
    """``rrelu`` that stores the slopes in ``noise``."""
    output = ops.empty_like.call(self, None, None, None, None, "contiguous_format")
    return rrelu_with_noise_out(self, noise, lower, upper, training, generator, output)


def rrelu_with_noise_cpu_(
    self: Tensor, noise: Tensor, lower: Scalar, upper: Scalar, training: bool, generator: Generator | None
) -> Tensor:
    """The in-place version of ``rrelu_with_noise``."""
    return rrelu_with_noise_out(self, noise, lower, upper, training, generator, self)


def rrelu_with_noise_cuda_(
    self: Tensor, noise: Tensor, lower: Scalar, upper: Scalar, training: bool, generator: Generator | None
) -> Tensor:
    """The in-place version of ``rrelu_with_noise``."""
    return rrelu_with_noise_out(self, noise, lower, upper, training, generator, self)


def rrelu_with_noise_out(
    self: Tensor,
    noise: Tensor,
    lower: Scalar,
    upper: Scalar,
    training: bool,
    generator: Generator | None,
    out: Tensor,
) -> Tensor:
    """Write the result of ``rrelu_with_noise`` into ``out``.

    Raise RuntimeError if ``noise`` has another shape than self.
    """
    if self._size != noise._size:
        raise RuntimeError(
            f"noise tensor shape must match self tensor shape. Got self.shape = {list(self._size)} noise.shape = "
            f"{list(noise._size)}"
        )
    if training:
        _train(self, noise, lower, upper, generator, out)
        return out
    middle = ops.div_Scalar.call(ops.add_Tensor.call(_tensor(lower), _tensor(upper), 1), 2)
    return ops.leaky_relu_out.call(self, ops.item.call(middle), out)


def _tensor(number: Scalar) -> Tensor:
    """A number as a 0-dim tensor (``scalar_to_tensor``, which calls no operator)."""
    tensor = allocate((), (), float64, CPU)
    tensor._array[...] = number
    return tensor


def _train(self: Tensor, noise: Tensor, lower: Scalar, upper: Scalar, generator: Generator | None, out: Tensor) -> None:
    """Sample a slope for each element that is not positive, in order. All other elements get the slope 1."""
    dtype = self._dtype
    if not dtype.is_floating_point:
        raise not_implemented("rrelu_with_noise_out_cpu", dtype)
    xp: Any = array_module(self._device.type)
    low, high = float(convert(lower, dtype).real), float(convert(upper, dtype).real)
    result = in_format(out)
    x = self._array.reshape(-1)
    negative = x <= 0
    slopes = xp.ones(x.shape, dtype.numpy)
    samples = distributions_helper.uniform_between(generator_of(self, generator), int(negative.sum()), True, low, high)
    slopes[negative] = converted(xp.asarray(samples), dtype)
    store(noise, slopes.reshape(self._size))
    store(result, (x * slopes).reshape(self._size))
    if result is not out:
        ops.copy_.call(out, result, False)


def rrelu_with_noise_backward(
    grad_output: Tensor,
    self: Tensor,
    noise: Tensor,
    lower: Scalar,
    upper: Scalar,
    training: bool,
    self_is_result: bool,
) -> Tensor:
    """grad times the slopes."""
    low, high = float(lower.real), float(upper.real)
    if high - low > 1e-6 and training:
        return ops.mul_Tensor.call(noise, grad_output)
    return ops.leaky_relu_backward.call(grad_output, self, (low + high) / 2, self_is_result)
