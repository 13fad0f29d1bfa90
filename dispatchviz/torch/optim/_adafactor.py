"""Adafactor (``torch/optim/_adafactor.py``): second moments of matrices, kept as a row and a column."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.optim.foreach_optimizer import zeros_like
from dispatchviz.torch.optim.optimizer import Optimizer
from dispatchviz.torch.optim.updates import run_closure, scalar_dtype, to_scalar

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Adafactor, with factored second moments. Raise ValueError for options out of range.

    NB: in PyTorch, ``foreach=True`` updates lists at once; it is off by default.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        for name, value, least in (("epsilon1", eps[0], 0), ("epsilon2", eps[1], 0), ("Clipping threshold d", d, 1)):
            if value is not None and not value >= least:
                raise ValueError(f"{name} should be >= {least} but is: {value}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        if foreach:
            raise NotImplementedError("Adafactor with foreach=True is not in dispatchviz's model of PyTorch")
        options = {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay}
        super().__init__(params, {**options, "foreach": foreach, "maximize": maximize})

    def step(self, closure: Any = None) -> Any:
        """Update the parameters once. Raise RuntimeError for complex parameters."""
        with torch.no_grad():
            loss = run_closure(closure)
            for group in self.param_groups:
                params = [param for param in group["params"] if param.grad is not None]
                for param in params:
                    self._begin(param)
                eps1 = group["eps"][0]
                for param in params:
                    eps1 = torch.finfo(param.dtype).eps if eps1 is None else eps1
                    self._update(param, group, eps1)
            return loss

    def _begin(self, param: Any) -> None:
        if torch.is_complex(param):
            raise RuntimeError("Adafactor does not support complex parameters")
        state, grad = self.state[param], param.grad
        if state:
            return
        state["step"] = torch.tensor(0.0, dtype=scalar_dtype())
        if grad.dim() > 1:
            shape = list(grad.shape)
            state["row_var"] = grad.new_zeros([*shape[:-1], 1])
            state["col_var"] = grad.new_zeros([*shape[:-2], 1, shape[-1]])
        else:
            state["variance"] = zeros_like(grad)

    def _update(self, param: Any, group: dict[str, Any], eps1: float) -> None:
        state, lr = self.state[param], to_scalar(group["lr"])
        grad = -param.grad if group["maximize"] else param.grad
        state["step"] += 1
        step = state["step"].item()
        one_minus_beta2 = step ** group["beta2_decay"]
        rate = min(lr, 1 / step**0.5)
        alpha = max(group["eps"][1], param.norm(2).item() / param.numel() ** 0.5) * rate
        if group["weight_decay"] != 0:
            param.mul_(1 - lr * group["weight_decay"])
        update = _variance(state, grad, one_minus_beta2, eps1).clamp_(min=eps1 * eps1).rsqrt_()
        update.mul_(grad)
        denominator = max(1.0, update.norm(2).item() / (update.numel() ** 0.5 * group["d"]))
        param.add_(update, alpha=-alpha / denominator)


def _variance(state: dict[str, Any], grad: Any, one_minus_beta2: float, eps1: float) -> Any:
    """Update the second moments by the gradient and return them."""
    if grad.dim() <= 1:
        state["variance"].lerp_(grad * grad, one_minus_beta2)
        return state["variance"].clone()
    for name, dim in (("row_var", -1), ("col_var", -2)):
        mean = torch.linalg.vector_norm(grad, dim=dim, keepdim=True).square_().div_(grad.size(dim))
        state[name].lerp_(mean, one_minus_beta2)
    estimate = state["row_var"] @ state["col_var"]
    return estimate.div_(state["row_var"].mean(dim=-2, keepdim=True).clamp_(min=eps1))
