"""``bernoulli``, ``bernoulli_``, ``geometric_`` (``aten/src/ATen/native/Distributions.cpp``)."""

from __future__ import annotations

from dispatchviz.core.call.structured import check_no_internal_overlap
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, store
from dispatchviz.core.native.random import distributions_helper
from dispatchviz.core.native.random.generator import Generator
from dispatchviz.core.native.random.uniform_normal import fill, generator_of, in_memory_order
from dispatchviz.core.tensor.tensor import Tensor, numel


def bernoulli(self: Tensor, generator: Generator | None) -> Tensor:
    """A tensor of 1 and 0; each element of self is the probability of a 1."""
    result = ops.empty_like.call(self, None, None, None, None, "contiguous_format")
    return ops.bernoulli__Tensor.call(result, self, generator)


def bernoulli_p(self: Tensor, p: float, generator: Generator | None) -> Tensor:
    """A new tensor of the shape of self that is 1 with probability p."""
    result = ops.empty_like.call(self, None, None, None, None, "contiguous_format")
    return ops.bernoulli__float.call(result, p, generator)


def bernoulli_out(self: Tensor, generator: Generator | None, out: Tensor) -> Tensor:
    """Write 1 or 0 into ``out``; each element of self is the probability of a 1."""
    return bernoulli__Tensor(ops.resize_.call(out, self._size, None), self, generator)


def bernoulli__float(self: Tensor, p: float, generator: Generator | None) -> Tensor:
    """Fill with 1 with probability p, else 0."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if not numel(self._size):
        return self
    check_no_internal_overlap(self)
    if self._dtype.is_complex:
        raise not_implemented("bernoulli_scalar_cpu_", self._dtype)
    return fill(self, distributions_helper.uniform(generator_of(self, generator), numel(self._size), True) < p)


def bernoulli__Tensor(self: Tensor, p: Tensor, generator: Generator | None) -> Tensor:
    """Fill with 1 with a separate probability for each element. Samples are float64 if p is, else float32."""
    if not numel(self._size):
        return self
    check_no_internal_overlap(self)
    if self._dtype.is_complex:
        raise not_implemented("bernoulli_tensor_cpu_self_", self._dtype)
    p = ops.to_dtype_layout.call(p, p._dtype, "strided", self._device, None, False, False, None)
    if p._size != self._size:
        p = ops.expand.call(p, self._size, False)
    if not p._dtype.is_floating_point:
        raise not_implemented("bernoulli_tensor_cpu_p_", p._dtype)
    probabilities = p._array.astype("float64" if p._dtype.name == "float64" else "float32")
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If "
            "so, please report an enhancement request to PyTorch.)"
        )
    wide = p._dtype.name == "float64"
    samples = distributions_helper.uniform(generator_of(self, generator), numel(self._size), wide)
    xp = array_module(self._device.type)
    store(self, xp.asarray(in_memory_order(samples, self._size, [self._stride, p._stride])) < probabilities)
    return self


def geometric_(self: Tensor, p: float, generator: Generator | None) -> Tensor:
    """Fill with the number of trials with probability p until the first success."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if not numel(self._size):
        return self
    check_no_internal_overlap(self)
    if self._dtype.is_complex or self._dtype.name == "bool":
        raise not_implemented("geometric_cpu", self._dtype)
    return fill(self, distributions_helper.geometric(generator_of(self, generator), numel(self._size), p))
