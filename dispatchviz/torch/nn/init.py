"""``torch.nn.init``: initial values of parameters (``torch/nn/init.py``). All functions write in place, in no-grad
mode.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.overrides import overridable_by_name as overridable

_LINEAR = (
    *("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
    "sigmoid",
)
_GAINS = {**dict.fromkeys(_LINEAR, 1), "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the gain that compensates for a nonlinearity. Raise ValueError for an unknown one."""
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    slope: Any = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + slope**2))


# -- values that do not depend on the shape ---------------------------------------------------------------------------


@overridable
def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Fill with the uniform distribution on [a, b)."""
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


@overridable
def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Fill with the normal distribution."""
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


@overridable
def constant_(tensor: Any, val: float) -> Any:
    """Fill with one number."""
    with torch.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Any) -> Any:
    """Fill with 1."""
    with torch.no_grad():
        return tensor.fill_(1.0)


def zeros_(tensor: Any) -> Any:
    """Fill with 0."""
    with torch.no_grad():
        return tensor.zero_()


def eye_(tensor: Any) -> Any:
    """Fill with the identity matrix. Raise ValueError for anything but a matrix."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with torch.no_grad():
        torch.eye(*tensor.shape, out=tensor, requires_grad=tensor.requires_grad)
    return tensor


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Fill with the identity of a convolution. Raise ValueError for shapes that no convolution has."""
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    channels = sizes[0] // groups
    middle = [size // 2 for size in sizes[2:]]
    with torch.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(channels, sizes[1])):
                tensor[(group * channels + channel, channel, *middle)] = 1
    return tensor


# -- values scaled by the shape ---------------------------------------------------------------------------------------


def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    window = math.prod(tensor.shape[2:])
    return tensor.size(1) * window, tensor.size(0) * window


def _calculate_correct_fan(tensor: Any, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def _xavier_std(tensor: Any, gain: float) -> float:
    return gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Fill with Glorot's uniform distribution of variance 2 / (fan_in + fan_out). Raise ValueError for fewer than two
    dimensions.
    """
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    with torch.no_grad():
        return tensor.uniform_(-bound, bound, generator=generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Fill with Glorot's normal distribution. Raise ValueError for fewer than two dimensions."""
    std = _xavier_std(tensor, gain)
    with torch.no_grad():
        return tensor.normal_(0.0, std, generator=generator)


def _is_empty(tensor: Any) -> bool:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


def _kaiming_std(tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@overridable
def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Fill with He's uniform distribution. Raise ValueError for fewer than two dimensions and unknown modes."""
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    with torch.no_grad():
        return tensor.uniform_(-bound, bound, generator=generator)


def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Fill with He's normal distribution. Raise ValueError for fewer than two dimensions and unknown modes."""
    if _is_empty(tensor):
        return tensor
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    with torch.no_grad():
        return tensor.normal_(0, std, generator=generator)


@overridable
def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """Fill with a (semi-)orthogonal matrix times ``gain``: the Q of a normal matrix, with signs that make R's diagonal
    positive. Raise ValueError for fewer than two dimensions.
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    matrix = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    if rows < columns:
        matrix.t_()
    q, r = torch.linalg.qr(matrix)
    signs = torch.diag(r, 0).sign()
    q *= signs
    if rows < columns:
        q.t_()
    with torch.no_grad():
        tensor.view_as(q).copy_(q)
        tensor.mul_(gain)
    return tensor


def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """Fill with the normal distribution, and a fraction of zeros in every column. Raise ValueError for anything but a
    matrix.
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[torch.randperm(rows)[:zeros], column] = 0
    return tensor


# -- the truncated normal distribution --------------------------------------------------------------------------------


def trunc_normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Any:
    """Fill with the normal distribution within [a, b]; values outside are sampled again."""
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=3,
        )
    inside = _norm_cdf((b - mean) / std) - _norm_cdf((a - mean) / std)
    with torch.no_grad():
        if inside > 0.3:
            _resample_outside(tensor, mean, std, a, b, generator)
        else:
            _accepted_by_density(tensor, mean, std, a, b, generator)
    return tensor


def _norm_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _resample_outside(tensor: Any, mean: float, std: float, a: float, b: float, generator: Any) -> None:
    low, high = tensor.new_tensor(a, device="cpu").item(), tensor.new_tensor(b, device="cpu").item()
    result = tensor.normal_(mean, std, generator=generator)
    while (outside := (result < low) | (result > high)).any():
        result = torch.where(outside, torch.empty_like(result).normal_(mean, std, generator=generator), result)
    if tensor is not result:
        tensor.copy_(result)


def _accepted_by_density(tensor: Any, mean: float, std: float, a: float, b: float, generator: Any) -> None:
    """Sample by rejection, for intervals of low probability: uniform samples, accepted by their density."""
    log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    candidates, chances = torch.empty_like(tensor), torch.empty_like(tensor)

    def refused() -> Any:
        candidates.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(log_peak)
        return chances.uniform_(generator=generator).log_().gt(candidates)

    tensor.uniform_(a, b, generator=generator)
    candidates.copy_(tensor)
    pending, result = refused(), tensor
    if not pending.any():
        return
    while True:
        candidates.uniform_(a, b, generator=generator)
        result = torch.where(pending, candidates, result)
        pending = torch.where(pending, refused(), pending)
        if not pending.any():
            break
    tensor.copy_(result)


# -- old names --------------------------------------------------------------------------------------------------------


def _deprecated(new: Callable[..., Any]) -> Callable[..., Any]:
    name = new.__name__
    old = name.removesuffix("_")

    @functools.wraps(new)
    def function(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{name}`.", FutureWarning, stacklevel=2)
        return new(*args, **kwargs)

    function.__name__ = old
    return function


uniform, normal, constant = _deprecated(uniform_), _deprecated(normal_), _deprecated(constant_)
eye, dirac = _deprecated(eye_), _deprecated(dirac_)
xavier_uniform, xavier_normal = _deprecated(xavier_uniform_), _deprecated(xavier_normal_)
kaiming_uniform, kaiming_normal = _deprecated(kaiming_uniform_), _deprecated(kaiming_normal_)
orthogonal, sparse = _deprecated(orthogonal_), _deprecated(sparse_)
