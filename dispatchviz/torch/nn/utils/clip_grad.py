"""Gradient clipping in place (``torch/nn/utils/clip_grad.py``), with foreach kernels if there are some."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable
from typing import Any

from typing_extensions import deprecated

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.optim.updates import grouped

_FOREACH_DEVICES = ("cpu", "cuda")


def _as_list(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)


def _gradients(parameters: Iterable[Any]) -> list[Any]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def _use_foreach(tensors: list[Any], foreach: bool | None) -> bool:
    """Return whether one call takes the whole list. Raise RuntimeError if it must but cannot."""
    device = tensors[0].device.type
    if foreach is None:
        return device in _FOREACH_DEVICES and all(type(tensor) is torch.Tensor for tensor in tensors)
    if foreach and device not in _FOREACH_DEVICES:
        raise RuntimeError(f"foreach=True was passed, but can't use the foreach API on {device} tensors")
    return foreach


def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Any:
    """Return the norm of all tensors as if they were one. Raise RuntimeError for inf and nan, if requested."""
    with torch.no_grad():
        tensors, norm_type = _as_list(tensors), float(norm_type)
        if not tensors:
            return torch.tensor(0.0)
        norms: list[Any] = []
        for (parts,), _ in grouped(tensors):
            if _use_foreach(parts, foreach):
                norms.extend(torch._foreach_norm(parts, norm_type))
            else:
                norms.extend(torch.linalg.vector_norm(part, norm_type) for part in parts)
        stacked = torch.stack([norm.to(tensors[0].device) for norm in norms])
        total = torch.linalg.vector_norm(stacked, norm_type)
        if error_if_nonfinite and torch.logical_or(total.isnan(), total.isinf()):
            raise RuntimeError(
                f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
                "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                "`error_if_nonfinite=False`"
            )
        return total


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:
    """Scale all gradients so that their common norm is at most ``max_norm``, and return the previous norm."""
    with torch.no_grad():
        owners = _as_list(parameters)
        if isinstance(parameters, types.GeneratorType) and not owners:
            warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
        total = get_total_norm(_gradients(owners), norm_type, error_if_nonfinite, foreach)
        clip_grads_with_norm_(owners, max_norm, total, foreach)
        return total


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Any, foreach: bool | None = None) -> None:
    """Scale all gradients so that their common norm, which is given, is at most ``max_norm``."""
    with torch.no_grad():
        gradients = _gradients([parameters] if isinstance(parameters, torch.Tensor) else parameters)
        limit = float(max_norm)
        if not gradients:
            return
        factor = torch.clamp(limit / (total_norm + 1e-6), max=1.0)
        for (parts,), _ in grouped(gradients):
            if _use_foreach(parts, foreach):
                torch._foreach_mul_(parts, factor.to(parts[0].device))
                continue
            moved = factor.to(parts[0].device)
            for part in parts:
                part.mul_(moved)


@deprecated(
    "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
    category=FutureWarning,
)
def clip_grad_norm(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:
    """``clip_grad_norm_``"""
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every gradient to ``clip_value``."""
    with torch.no_grad():
        limit = float(clip_value)
        for (parts,), _ in grouped(_gradients(_as_list(parameters))):
            if _use_foreach(parts, foreach):
                torch._foreach_clamp_min_(parts, -limit)
                torch._foreach_clamp_max_(parts, limit)
            else:
                for part in parts:
                    part.clamp_(min=-limit, max=limit)
