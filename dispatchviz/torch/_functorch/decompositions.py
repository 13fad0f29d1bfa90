"""Batch rules in Python: losses composed of operators that have a batch rule (``torch/_functorch/predispatch.py``).

The first ``vmap`` registers them under FuncTorchBatched, as a library would. The decompositions are from
``torch/_decomp/decompositions.py`` and, for ``addr``, from ``torch/_refs/__init__.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dispatchviz.core.native.iterator.tensor_iterator import result_type
from dispatchviz.core.native.losses.mse_nll_loss import MEAN, NONE, SUM
from dispatchviz.core.tensor.dtype import DType, bfloat16, float16, float32
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._library.libraries import Library
from dispatchviz.torch._namespace import torch

# -- precision ---------------------------------------------------------------------------------------------------------


def pw_cast_for_opmath(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compute half precision in float32. All tensors are cast, even if that changes nothing."""

    @functools.wraps(function)
    def cast(*args: Any) -> Any:
        result = result_type(*(arg for arg in args if isinstance(arg, Tensor)))
        computed = float32 if result in (float16, bfloat16) else result
        found = function(*(_to(arg, computed) if isinstance(arg, Tensor) else arg for arg in args))
        return _to(found, result)

    return cast


def _to(tensor: Any, dtype: DType) -> Any:
    return tensor.to(dtype)


# -- losses of two tensors ---------------------------------------------------------------------------------------------


@pw_cast_for_opmath
def mse_loss_backward(grad_output: Any, input: Any, target: Any, reduction: int) -> Any:
    """Return 2 * (input - target) * grad, divided by the count for a mean."""
    return _reduction_scale(2.0, input, reduction) * (input - target) * grad_output


@pw_cast_for_opmath
def smooth_l1_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int, beta: float) -> Any:
    """Return grad times the difference over beta where it is below beta, else times its sign."""
    difference = self - target
    distance = torch.abs(difference)
    grad = _reduction_scale(1.0, self, reduction) * grad_output
    return torch.where(distance < beta, grad * difference / beta, grad * torch.sign(difference))


@pw_cast_for_opmath
def huber_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int, delta: float) -> Any:
    """Return grad times the difference where it is below delta, else times delta with its sign."""
    scale = _reduction_scale(1.0, self, reduction)
    difference = self - target
    below, lower = difference < -delta, -scale * grad_output * delta
    above, upper = difference > delta, scale * grad_output * delta
    return torch.where(below, lower, torch.where(above, upper, scale * difference * grad_output))


def _reduction_scale(factor: float, self: Any, reduction: int) -> float:
    return factor / self.numel() if reduction == MEAN else factor


# -- nll_loss ----------------------------------------------------------------------------------------------------------


def _nll_loss_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    channel = 0 if self.dim() < 2 else 1
    w = None
    if weight is not None:
        w = weight if self.dim() < 2 else weight.view(_shape_of_weight(self, weight, channel))
        self = self * w
    safe_target = torch.where(target != ignore_index, target, 0)
    index = safe_target.unsqueeze(channel)
    result = -torch.gather(self, channel, index).squeeze(channel)
    result = torch.where(target != ignore_index, result, 0)
    if reduction == NONE and self.dim() > 1:
        return result, self.new_full((), 0.0)
    if w is None:
        total_weight = (target != ignore_index).sum().to(self)
    else:
        weights = torch.gather(w.expand(self.shape), channel, index).squeeze(channel)
        total_weight = torch.where(target != ignore_index, weights, 0).sum()
    if reduction == SUM:
        result = result.sum()
    elif reduction == MEAN:
        result = result.sum() / total_weight
    return result, total_weight


def _shape_of_weight(self: Any, weight: Any, channel: int) -> tuple[int, ...]:
    return tuple(weight.shape[0] if dim == channel else 1 for dim in range(self.dim()))


def nll_loss_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    """Return -self at the target, with weights. Raise AssertionError or RuntimeError for shapes that do not fit."""
    if not 0 < self.dim() <= 2:
        raise AssertionError(f"input tensor should be 1D or 2D, got {self.dim()}D")
    _check_target(target)
    if not (self.dim() == 1 and target.dim() == 0) and self.shape[0] != target.shape[0]:
        raise RuntimeError(f"size mismatch (got input: {self.shape}, target: {target.shape})")
    classes = self.shape[-1]
    if weight is not None and not (weight.dim() == 1 and weight.numel() == classes):
        raise AssertionError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {weight.shape}"
        )
    return _nll_loss_forward(self, target, weight, reduction, ignore_index)


def _check_target(target: Any) -> None:
    if target.dim() > 1:
        raise AssertionError(f"0D or 1D target tensor expected, multi-target not supported, got {target.dim()}D")


def nll_loss2d_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    """Return the same for images, without checks."""
    return _nll_loss_forward(self, target, weight, reduction, ignore_index)


def _nll_loss_backward(
    grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int,
    total_weight: Any,
) -> Any:  # fmt: skip
    channel = 0 if self.dim() < 2 else 1
    if reduction == MEAN:
        grad_output = grad_output / total_weight
    if self.dim() == 1 and target.dim() > 0:
        target = target[0]
    target = target.unsqueeze(channel)
    safe_target = torch.where(target != ignore_index, target, 0)
    grad_input = torch.zeros_like(self)
    grad_input = torch.scatter(grad_input, channel, safe_target, -1.0)
    if grad_input.dim() > grad_output.dim() > 0:
        grad_output = grad_output.unsqueeze(channel)
    if weight is not None:
        grad_output = grad_output * weight.reshape(_shape_of_weight(self, weight, channel))
    grad_output = torch.where(target != ignore_index, grad_output, 0)
    return grad_input * grad_output


def nll_loss_backward(
    grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int,
    total_weight: Any,
) -> Any:  # fmt: skip
    """Return -weight * grad at the target. Raise AssertionError for shapes that do not fit."""
    if self.dim() > 2:
        raise AssertionError(f"input tensor should be 1D or 2D, got {self.dim()}D")
    _check_target(target)
    if not (self.dim() == 1 and target.dim() == 0) and self.shape[0] != target.shape[0]:
        raise AssertionError(f"size mismatch (got input: {self.shape}, target: {target.shape})")
    if weight is not None and weight.numel() != self.shape[-1]:
        raise AssertionError("weight tensor should be defined either for all or no classes")
    return _nll_loss_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight)


def nll_loss2d_backward(
    grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int,
    total_weight: Any,
) -> Any:  # fmt: skip
    """Return the same for images. Raise AssertionError for anything but images."""
    if self.dim() != 4:
        raise AssertionError(
            f"only batches of spatial inputs supported (4D tensors), but got input of dimension: {self.dim()}"
        )
    if target.dim() != 3:
        raise AssertionError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.dim()}"
        )
    return _nll_loss_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight)


# -- addr --------------------------------------------------------------------------------------------------------------


def addr(self: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Return beta * self + alpha * outer product. Raise RuntimeError for anything but vectors."""
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if vector.dim() != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vector.dim()}-D")
    self = self.expand(vec1.shape[0], vec2.shape[0])
    if beta == 0:
        return alpha * torch.outer(vec1, vec2)
    return beta * self + alpha * torch.outer(vec1, vec2)


# -- registration ------------------------------------------------------------------------------------------------------

DECOMPOSITIONS: tuple[Callable[..., Any], ...] = (
    mse_loss_backward,
    smooth_l1_loss_backward,
    huber_loss_backward,
    nll_loss_forward,
    nll_loss2d_forward,
    nll_loss_backward,
    nll_loss2d_backward,
    addr,
)
"""The decompositions in PyTorch's order, named after the operators."""


WHERE = "torch/_functorch/predispatch.py:155"
"""The line of PyTorch that creates their library."""


class _Loaded:
    library: Library | None = None


def lazy_load_decompositions() -> None:
    """Register the decompositions, unless they are registered already."""
    if _Loaded.library is None or _Loaded.library.m is None:
        _Loaded.library = Library.made_at(WHERE, "aten", "IMPL", "FuncTorchBatched")
        for function in DECOMPOSITIONS:
            _Loaded.library.impl(function.__name__, function)
