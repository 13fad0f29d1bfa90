"""Muon (``torch/optim/_muon.py``): momentum whose matrices are made nearly orthogonal."""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.optim.optimizer import Optimizer
from dispatchviz.torch.optim.updates import run_closure, to_scalar

__all__ = ["Muon"]

_COEFFICIENTS = (3.4445, -4.775, 2.0315)
_WAYS = ("original", "match_rms_adamw", "spectral_unclamped")


def _zeropower_via_newtonschulz(grad: Any, coefficients: Any, steps: int, eps: float) -> Any:
    """Return a matrix with singular values near 1, in bfloat16. Raise ValueError for other shapes and counts."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(grad.shape) != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = grad.size(0) > grad.size(1)
    matrix = grad.bfloat16()
    if tall:
        matrix = matrix.T
    matrix.div_(matrix.norm().clamp(min=eps))
    for _ in range(steps):
        gram = matrix @ matrix.T
        update = torch.addmm(gram, gram, gram, beta=b, alpha=c)
        matrix = torch.addmm(matrix, update, matrix, beta=a)
    return matrix.T if tall else matrix


def _adjust_lr(lr: Any, way: str | None, shape: Any) -> Any:
    rows, columns = shape[:2]
    if way is None or way == "original":
        return lr * math.sqrt(max(1, rows / columns))
    if way == "spectral_unclamped":
        return lr * math.sqrt(rows / columns)
    return lr * (0.2 * math.sqrt(max(rows, columns)))


class Muon(Optimizer):
    """Muon, for matrices only. Raise ValueError for other parameters and for options out of range."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = _COEFFICIENTS,
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        for name, value in (("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn is not None and adjust_lr_fn not in _WAYS:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        rates = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov}
        iteration = {"ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps}
        super().__init__(params, {**rates, **iteration, "adjust_lr_fn": adjust_lr_fn})
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}"
                    )

    def step(self, closure: Any = None) -> Any:
        """Update the parameters once. Raise RuntimeError for complex parameters."""
        with torch.no_grad():
            loss = run_closure(closure)
            for group in self.param_groups:
                params = [param for param in group["params"] if param.grad is not None]
                buffers = [self._buffer(param) for param in params]
                for param, buffer in zip(params, buffers, strict=True):
                    self._update(param, buffer, group)
            return loss

    def _buffer(self, param: Any) -> Any:
        if torch.is_complex(param):
            raise RuntimeError("Muon does not support complex parameters")
        state = self.state[param]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(param.grad, memory_format=torch.preserve_format)
        return state["momentum_buffer"]

    def _update(self, param: Any, buffer: Any, group: dict[str, Any]) -> None:
        lr, momentum = to_scalar(group["lr"]), group["momentum"]
        buffer.lerp_(param.grad, 1 - momentum)
        update = param.grad.lerp(buffer, momentum) if group["nesterov"] else buffer
        update = _zeropower_via_newtonschulz(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        adjusted = _adjust_lr(lr, group["adjust_lr_fn"], param.shape)
        param.mul_(1 - lr * group["weight_decay"])
        param.add_(update, alpha=-adjusted)
