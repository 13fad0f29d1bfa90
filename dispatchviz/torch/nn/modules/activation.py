"""Activations (``torch/nn/modules/activation.py``). ``MultiheadAttention`` is in ``attention.py``."""

from __future__ import annotations

import warnings
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn import functional as F
from dispatchviz.torch.nn import init
from dispatchviz.torch.nn.modules.module import Module
from dispatchviz.torch.nn.parameter import new_parameter


class _Plain(Module):
    """Base class of activations without options."""

    _function: str

    def forward(self, input: Any) -> Any:
        """Input of any shape."""
        return getattr(F, self._function)(input)


class _Inplace(Module):
    """Base class of activations whose only option is to overwrite the input."""

    _function: str

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """Input of any shape."""
        return getattr(F, self._function)(input, self.inplace)

    def extra_repr(self) -> str:
        """Return whether the input is overwritten, for the repr."""
        return "inplace=True" if self.inplace else ""


def _with_inplace(text: str, module: Any) -> str:
    return f"{text}, inplace=True" if module.inplace else text


class ReLU(_Inplace):
    """max(0, x)."""

    _function = "relu"


class SELU(_Inplace):
    """A scaled ELU that keeps mean 0 and variance 1."""

    _function = "selu"


class SiLU(_Inplace):
    """x sigmoid(x)."""

    _function = "silu"


class Mish(_Inplace):
    """x tanh(softplus(x))."""

    _function = "mish"


class Hardsigmoid(_Inplace):
    """A piecewise linear sigmoid with three pieces."""

    _function = "hardsigmoid"
    extra_repr = Module.extra_repr


class Hardswish(_Inplace):
    """x times a hard sigmoid."""

    _function = "hardswish"
    extra_repr = Module.extra_repr


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Any) -> Any:
        """Input of any shape."""
        return torch.sigmoid(input)


class Tanh(Module):
    """tanh(x)."""

    def forward(self, input: Any) -> Any:
        """Input of any shape."""
        return torch.tanh(input)


class LogSigmoid(_Plain):
    """log(sigmoid(x))."""

    _function = "logsigmoid"


class Softsign(_Plain):
    """x / (1 + |x|)."""

    _function = "softsign"


class Tanhshrink(_Plain):
    """x - tanh(x)."""

    _function = "tanhshrink"


class Threshold(Module):
    """x if it is larger than the threshold, else the value."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """Input of any shape."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """Return the numbers for the repr."""
        return _with_inplace(f"threshold={self.threshold}, value={self.value}", self)


class RReLU(Module):
    """A leaky ReLU with a random slope during training."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """Input of any shape."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Return the slopes for the repr."""
        return _with_inplace(f"lower={self.lower}, upper={self.upper}", self)


class Hardtanh(Module):
    """x clamped between two numbers. Raise AssertionError unless the second is larger."""

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for old, new, given in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if given is not None:
                warnings.warn(
                    f"keyword argument `{old}` is deprecated and rename to `{new}`", FutureWarning, stacklevel=2
                )
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Any) -> Any:
        """Input of any shape."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """Return the numbers for the repr."""
        return _with_inplace(f"min_val={self.min_val}, max_val={self.max_val}", self)


class ReLU6(Hardtanh):
    """min(max(0, x), 6)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Return whether the input is overwritten, for the repr."""
        return "inplace=True" if self.inplace else ""


class _Alpha(Module):
    _function: str

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """Input of any shape."""
        return getattr(F, self._function)(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Return the number for the repr."""
        return _with_inplace(f"alpha={self.alpha}", self)


class ELU(_Alpha):
    """x, or alpha (exp(x) - 1) if x is negative."""

    _function = "elu"


class CELU(_Alpha):
    """x, or alpha (exp(x / alpha) - 1) if x is negative."""

    _function = "celu"


class GLU(Module):
    """One half of the input times the sigmoid of the other."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        """Input whose size along ``dim`` is even."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """Return the dimension for the repr."""
        return f"dim={self.dim}"


class GELU(Module):
    """x times the probability of values below x in the normal distribution."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Any) -> Any:
        """Input of any shape."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Return the approximation for the repr."""
        return f"approximate={self.approximate!r}"


class _Shrink(Module):
    _function: str

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Any) -> Any:
        """Input of any shape."""
        return getattr(F, self._function)(input, self.lambd)

    def extra_repr(self) -> str:
        """Return the number for the repr."""
        return str(self.lambd)


class Hardshrink(_Shrink):
    """x, or 0 if it is near 0."""

    _function = "hardshrink"


class Softshrink(_Shrink):
    """x moved towards 0 by lambd, at most to 0."""

    _function = "softshrink"


class LeakyReLU(Module):
    """x, or a multiple of x if it is negative."""

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """Input of any shape."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """Return the slope for the repr."""
        return _with_inplace(f"negative_slope={self.negative_slope}", self)


class Softplus(Module):
    """log(1 + exp(beta x)) / beta."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Any) -> Any:
        """Input of any shape."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Return the numbers for the repr."""
        return f"beta={self.beta}, threshold={self.threshold}"


class PReLU(Module):
    """A leaky ReLU with a learned slope, one for all channels or one per channel."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        self.num_parameters = num_parameters
        super().__init__()
        self.init = init
        new_parameter(self, "weight", num_parameters, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all slopes to the initial one."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Any) -> Any:
        """Input with a channel dimension."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Return the number of slopes for the repr."""
        return f"num_parameters={self.num_parameters}"


class _Dim(Module):
    _function: str
    _checks_dim = True

    def __init__(self, dim: int | None = None) -> None:
        if self._checks_dim and dim is not None and (not isinstance(dim, int) or isinstance(dim, bool)):
            raise TypeError(f"dim must be an int or None, got {type(dim)}")
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        """Input of any shape."""
        return getattr(F, self._function)(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        """Return the dimension for the repr."""
        return f"dim={self.dim}"


class Softmin(_Dim):
    """The softmax of -x."""

    _function = "softmin"
    _checks_dim = False


class Softmax(_Dim):
    """exp(x) divided by its sum along ``dim``. Raise TypeError for anything else than an int or None."""

    _function = "softmax"

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim)
        _check_dim(dim)


class LogSoftmax(_Dim):
    """The logarithm of the softmax. Raise TypeError as ``Softmax``."""

    _function = "log_softmax"

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim)
        _check_dim(dim)


def _check_dim(dim: object) -> None:
    if dim is not None and (not isinstance(dim, int) or isinstance(dim, bool)):
        raise TypeError(f"dim must be an int or None, got {type(dim)}")


class Softmax2d(Module):
    """The softmax over the channels of an image. Raise ValueError for other dimensions."""

    def forward(self, input: Any) -> Any:
        """Input (N, C, H, W) or (C, H, W)."""
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)
