"""Activations. Most of them choose between an operator and its in-place form."""

from __future__ import annotations

import warnings
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.overrides import overridable


@overridable
def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """x if it is larger than the threshold, else the value."""
    function = torch.threshold_ if inplace else torch.threshold
    return function(input, threshold, value)


@overridable
def relu(input: Any, inplace: bool = False) -> Any:
    """max(0, x)."""
    return torch.relu_(input) if inplace else torch.relu(input)


@overridable
def glu(input: Any, dim: int = -1) -> Any:
    """One half of the input times the sigmoid of the other. Raise RuntimeError for a scalar."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return torch._C._nn.glu(input, dim)


@overridable
def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """x clamped between two numbers. Raise ValueError if the first is larger."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    function = torch._C._nn.hardtanh_ if inplace else torch._C._nn.hardtanh
    return function(input, min_val, max_val)


@overridable
def relu6(input: Any, inplace: bool = False) -> Any:
    """min(max(0, x), 6)."""
    return torch._C._nn.relu6_(input) if inplace else torch._C._nn.relu6(input)


@overridable
def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x, or alpha (exp(x) - 1) if x is negative."""
    return torch._C._nn.elu_(input, alpha) if inplace else torch._C._nn.elu(input, alpha)


@overridable
def selu(input: Any, inplace: bool = False) -> Any:
    """A scaled ELU."""
    return torch.selu_(input) if inplace else torch.selu(input)


@overridable
def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x, or alpha (exp(x / alpha) - 1) if x is negative."""
    return torch.celu_(input, alpha) if inplace else torch.celu(input, alpha)


@overridable
def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """x, or a multiple of x if it is negative."""
    function = torch._C._nn.leaky_relu_ if inplace else torch._C._nn.leaky_relu
    return function(input, negative_slope)


@overridable
def rrelu(
    input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Any:
    """A leaky ReLU with a random slope during training."""
    function = torch.rrelu_ if inplace else torch.rrelu
    return function(input, lower, upper, training)


@overridable
def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """A piecewise linear sigmoid with three pieces."""
    return torch._C._nn.hardsigmoid_(input) if inplace else torch._C._nn.hardsigmoid(input)


@overridable
def silu(input: Any, inplace: bool = False) -> Any:
    """x sigmoid(x)."""
    return torch._C._nn.silu_(input) if inplace else torch._C._nn.silu(input)


@overridable
def mish(input: Any, inplace: bool = False) -> Any:
    """x tanh(softplus(x))."""
    return torch._C._nn.mish_(input) if inplace else torch._C._nn.mish(input)


@overridable
def hardswish(input: Any, inplace: bool = False) -> Any:
    """x times a hard sigmoid."""
    return torch._C._nn.hardswish_(input) if inplace else torch._C._nn.hardswish(input)


@overridable
def tanhshrink(input: Any) -> Any:
    """x - tanh(x)."""
    return input - input.tanh()


@overridable
def softsign(input: Any) -> Any:
    """x / (1 + |x|)."""
    return input / (input.abs() + 1)


def tanh(input: Any) -> Any:
    """tanh(x)."""
    return input.tanh()


def sigmoid(input: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return input.sigmoid()


# -- softmax ----------------------------------------------------------------------------------------------------------


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """Return the deprecated implicit ``dim`` of the softmax."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel + 1,
    )
    return 0 if ndim in (0, 1, 3) else 1


def _options(dtype: Any) -> dict[str, Any]:
    return {} if dtype is None else {"dtype": dtype}


@overridable
def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The softmax of -x."""
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim, **_options(dtype))


@overridable
def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """exp(x) divided by its sum along ``dim``."""
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim, **_options(dtype))


@overridable
def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The logarithm of the softmax."""
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim, **_options(dtype))


@overridable
def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A softmax of noisy logits. If ``hard``, a one-hot vector with the gradients of the softmax."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=3)
    noise = -torch.empty_like(logits, memory_format=torch.legacy_contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    ones = torch.zeros_like(logits, memory_format=torch.legacy_contiguous_format).scatter_(dim, index, 1.0)
    return ones - soft.detach() + soft
