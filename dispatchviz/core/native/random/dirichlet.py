"""``_sample_dirichlet``, ``_dirichlet_grad`` (``aten/src/ATen/native/Distributions.h``).

The gradient of a sample is that of a beta sample: series near 0 and 1, an expansion for large concentrations, and a
rational approximation between them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from dispatchviz.core.device.array_library import array_module, on_host
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, quiet, store
from dispatchviz.core.native.random import rejection_sampling
from dispatchviz.core.native.random.generator import Generator
from dispatchviz.core.native.random.poisson_binomial_gamma import fill_samples, rounded_type
from dispatchviz.core.native.random.uniform_normal import generator_of
from dispatchviz.core.native.special import special_arrays
from dispatchviz.core.tensor.dtype import float32, float64
from dispatchviz.core.tensor.tensor import Tensor

Number = Any
"""A NumPy number of the tensor's dtype. Results are rounded at each step, as in C++."""


def _s_dirichlet(self: Tensor, generator: Generator | None) -> Tensor:
    """A Dirichlet sample; the last dimension of self holds the concentrations.

    Gamma samples in double are divided by their sum.
    """
    result = ops.zeros.call(self._size, self._dtype, "strided", self._device, None)
    if self._dtype not in (float32, float64):
        raise not_implemented("dirichlet", self._dtype)
    gamma = ops.zeros.call(self._size, float64, "strided", self._device, None)
    source, least = generator_of(self, generator), float(numpy.finfo("float64").tiny)
    fill_samples(gamma, lambda alpha: max(least, rejection_sampling.gamma(alpha, source, float)), self)
    total = ops.expand.call(ops.sum_dim_IntList.call(gamma, (-1,), True, None), self._size, False)
    if result._array is not None:
        dtype = rounded_type(self)
        samples = (gamma._array / total._array).astype(dtype)
        below = numpy.nextafter(dtype(1), dtype(0))
        store(result, samples.clip(numpy.finfo(dtype).tiny, below))
    return result


def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """The gradient, from the samples, their concentrations and the sums of the concentrations."""
    result = ops.empty_memory_format.call(x._size, x._dtype, "strided", x._device, None, None)
    if x._dtype not in (float32, float64):
        raise not_implemented("_dirichlet_grad_cpu", x._dtype)
    if result._array is not None:
        dtype = rounded_type(x)
        rows = zip(*(on_host(tensor._array).flat for tensor in (x, alpha, total)), strict=True)
        found = quiet.run(lambda: [_gradient(*(dtype(number) for number in row)) for row in rows])
        store(result, array_module(result._device.type).asarray(numpy.array(found).reshape(result._size)))
    return result


def _gradient(x: Number, alpha: Number, total: Number) -> Number:
    beta, boundary = total - alpha, total * x * (1 - x)
    if x <= 0.5 and boundary < 2.5:
        return _alpha_near_0(x, alpha, beta)
    if x >= 0.5 and boundary < 0.75:
        return -_beta_near_0(1 - x, beta, alpha)
    if alpha > 6 and beta > 6:
        return _for_large_concentrations(float(x), float(alpha), float(beta))
    return _between(float(x), float(alpha), float(total))


def _digamma(x: Number) -> float:
    found: Any = special_arrays.digamma(numpy, numpy.array([x], "float64"))
    return float(found[0])


def _alpha_near_0(x: Number, alpha: Number, beta: Number) -> Number:
    """The derivative by a Taylor series near 0, for the first concentration; nan becomes 0."""
    dtype = type(x)
    factor = dtype(dtype(_digamma(alpha)) - dtype(_digamma(alpha + beta)) - numpy.log(x))
    above = dtype(1)
    series = above / alpha * (factor + 1 / alpha)
    for i in range(1, 11):
        above = above * ((i - beta) * x / i)
        below = alpha + i
        series = series + above / below * (factor + 1 / below)
    result = x * (1 - x) ** -beta * series
    return dtype(0) if numpy.isnan(result) else result


def _beta_near_0(x: Number, alpha: Number, beta: Number) -> Number:
    """The derivative by a Taylor series near 0, for the second concentration; nan becomes 0."""
    dtype = type(x)
    factor = dtype(dtype(_digamma(alpha + beta)) - dtype(_digamma(beta)))
    above, product, derivative, series = dtype(1), dtype(1), dtype(0), factor / alpha
    for i in range(1, 9):
        above = above * (-x / i)
        derivative = derivative * (beta - i) + product
        product = product * (beta - i)
        series = series + above / (alpha + i) * (derivative + factor * product)
    result = -((1 - x) ** (1 - beta)) * series
    return dtype(0) if numpy.isnan(result) else result


def _for_large_concentrations(x: float, alpha: float, beta: float) -> float:
    """The derivative for large concentrations, by Rice's saddle point expansion."""
    total = alpha + beta
    mean, std = alpha / total, math.sqrt(alpha * beta / (total + 1)) / total
    if mean - 0.1 * std <= x <= mean + 0.1 * std:
        return _at_mean(x, alpha, beta)
    deviation = alpha * (x - 1) + beta * x
    first = (2 * (alpha * alpha) * (x - 1) + alpha * beta * (x - 1) - x * (beta * beta)) / (
        math.sqrt(2 * alpha / beta) * total**1.5 * deviation * deviation
    )
    third = math.sqrt(8 * alpha * beta / total) / (beta * x + alpha * (x - 1))
    fourth = (beta * math.log(beta / (total * (1 - x))) + alpha * math.log(alpha / (total * x))) ** -1.5
    all_four = first + 0.5 * math.log(alpha / (total * x)) * (third + (fourth if x < mean else -fourth))
    scale: float = _stirling(alpha) * _stirling(beta) / _stirling(total)
    prefactor = -x / math.sqrt(2 * alpha * beta / total)
    return float(scale * prefactor * all_four)


def _stirling(x: float) -> float:
    return 1 + 1 / (12 * x) + 1 / (288 * x * x)


def _at_mean(x: float, alpha: float, beta: float) -> float:
    """The derivative near the mean, where the expansion divides by 0."""
    total, square = alpha + beta, beta * beta
    inner = (453 + 1620 * beta * (1 - x) - 455 * x) * beta + alpha * (8 * (1 - x) * (135 * beta - 11))
    inner = 3 * (59 + 180 * beta - 90 * x) * square + alpha * inner
    inner = (43 + 20 * (16 + 27 * beta) * x) * square * beta + alpha * inner
    poly = 47 * x * square * square + alpha * inner
    above = (1 + 12 * alpha) * (1 + 12 * beta) / (total * total)
    return above / (1 - x) * poly / (12960 * alpha * alpha * alpha * beta * beta * (1 + 12 * total))


_RATIO = numpy.array(
    (
        (
            (
                (1.003668233, -0.01061107488, -0.0657888334, 0.01201642863),
                (0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033),
                (-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013),
            ),
            (
                (0.221950385, -0.3187676331, 0.01799915743, 0.01074823814),
                (-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057),
                (0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05),
            ),
            (
                (-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565),
                (0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181),
                (0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05),
            ),
        ),
        (
            (
                (1.0, -0.02924021934, -0.04438342661, 0.007285809825),
                (0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521),
                (-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149),
            ),
            (
                (0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273),
                (0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956),
                (-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05),
            ),
            (
                (0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05),
                (0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05),
                (-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06),
            ),
        ),
    )
)
"""The coefficients of the numerator and the denominator, by powers of three logarithms."""


def _between(x: float, alpha: float, total: float) -> float:
    """A rational correction of an approximation."""
    u = math.log(x)
    a = math.log(alpha) - u
    b = math.log(total) - a
    powers = [numpy.array([1.0, number, number**2, number**3]) for number in (u, a, b)]
    above, below = numpy.einsum("nijk,i,j,k->n", _RATIO, powers[0][:3], powers[1][:3], powers[2])
    return float(above / below * (x * (_digamma(total) - _digamma(alpha)) / (total - alpha)))
