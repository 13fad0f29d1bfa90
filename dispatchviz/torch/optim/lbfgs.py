"""L-BFGS (``torch/optim/lbfgs.py``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.optim.line_search import Point, StrongWolfe
from dispatchviz.torch.optim.optimizer import Optimizer
from dispatchviz.torch.optim.updates import to_scalar

__all__ = ["LBFGS"]

_STATE = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")
"""The state that a step leaves for the next one."""


class LBFGS(Optimizer):
    """Newton's method with curvature estimated from the last steps. Raise ValueError for options out of range and
    several groups.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        *,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr >= 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
            "maximize": maximize,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]
        self._numel_cache: int | None = None

    # -- parameters as one vector -------------------------------------------------------------------------------------

    def _gather_flat_grad(self) -> Any:
        views = []
        for param in self._params:
            view = param.new(param.numel()).zero_() if param.grad is None else param.grad.view(-1)
            views.append(torch.view_as_real(view).view(-1) if torch.is_complex(view) else view)
        flat_grad = torch.cat(views, 0)
        if self._maximizes():
            flat_grad.neg_()
        return flat_grad

    def _maximizes(self) -> bool:
        """Return whether steps raise the loss. An old state has no such option."""
        return bool(self.param_groups[0].get("maximize", False))

    def _signed(self, loss: Any) -> float:
        """The loss that falls with each step."""
        return -float(loss) if self._maximizes() else float(loss)

    def _add_grad(self, step_size: Any, update: Any) -> None:
        offset = 0
        for param in self._params:
            real = torch.view_as_real(param) if torch.is_complex(param) else param
            count = real.numel()
            real.add_(update[offset : offset + count].view_as(real), alpha=step_size)
            offset += count

    def _clone_param(self) -> list[Any]:
        return [param.clone(memory_format=torch.contiguous_format) for param in self._params]

    def _set_param(self, params_data: list[Any]) -> None:
        for param, data in zip(self._params, params_data, strict=True):
            param.copy_(data)

    # -- a step -------------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Run up to ``max_iter`` iterations and return the first loss. Raise RuntimeError for an unknown line
        search.
        """
        with torch.no_grad():
            return self._step(torch.enable_grad()(closure))

    def _step(self, closure: Callable[[], Any]) -> Any:
        if not self._params:
            return closure()
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        original = closure()
        loss, evaluations = self._signed(original), 1
        state["func_evals"] += 1
        flat_grad = self._gather_flat_grad()
        if flat_grad.abs().max() <= group["tolerance_grad"]:
            return original
        kept = {name: state.get(name) for name in _STATE}
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            slope = self._choose_direction(kept, state, group, flat_grad, loss)
            if slope > -group["tolerance_change"]:
                break
            last = iteration == group["max_iter"]
            left = group["max_eval"] - evaluations
            loss, flat_grad, small, more = self._move(closure, kept, group, flat_grad, loss, slope, left, last)
            evaluations += more
            state["func_evals"] += more
            if last or evaluations >= group["max_eval"] or small or self._has_converged(kept, group, loss):
                break
        state.update(kept)
        return original

    def _choose_direction(
        self, kept: dict[str, Any], state: dict[str, Any], group: dict[str, Any], flat_grad: Any, loss: float
    ) -> Any:
        """Choose the search direction and the step size; return the directional derivative."""
        rate, first = to_scalar(group["lr"]), state["n_iter"] == 1
        if first:
            kept |= {"d": flat_grad.neg(), "old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1}
        else:
            self._remember(kept, group["history_size"], flat_grad)
            if "al" not in state:
                state["al"] = [None] * group["history_size"]
            kept["d"] = _two_loops(kept, state["al"], flat_grad)
        if kept["prev_flat_grad"] is None:
            kept["prev_flat_grad"] = flat_grad.clone(memory_format=torch.contiguous_format)
        else:
            kept["prev_flat_grad"].copy_(flat_grad)
        kept["prev_loss"] = loss
        kept["t"] = min(1.0, 1.0 / flat_grad.abs().sum()) * rate if first else rate
        return flat_grad.dot(kept["d"])

    def _remember(self, kept: dict[str, Any], history_size: int, flat_grad: Any) -> None:
        """Remember the last step and the change of the gradient, if the curvature is positive."""
        y = flat_grad.sub(kept["prev_flat_grad"])
        s = kept["d"].mul(kept["t"])
        ys = y.dot(s)
        if ys > 1e-10:
            history = (kept["old_dirs"], kept["old_stps"], kept["ro"])
            if len(kept["old_dirs"]) == history_size:
                for values in history:
                    values.pop(0)
            kept["old_dirs"].append(y)
            kept["old_stps"].append(s)
            kept["ro"].append(1.0 / ys)
            kept["H_diag"] = ys / y.dot(y)

    def _move(
        self,
        closure: Callable[[], Any],
        kept: dict[str, Any],
        group: dict[str, Any],
        flat_grad: Any,
        loss: float,
        slope: Any,
        left: int,
        last: bool,
    ) -> tuple[float, Any, Any, int]:
        """Move, and return loss, gradient, whether the gradient is small, and the number of evaluations."""
        evaluations = 0
        if group["line_search_fn"] is not None:
            if group["line_search_fn"] != "strong_wolfe":
                raise RuntimeError("only 'strong_wolfe' is supported")
            search = self._search(closure, kept["d"], Point(None, loss, flat_grad, slope), left)
            found = search.run(kept["t"])
            loss, flat_grad, kept["t"], evaluations = found.f, found.g, found.t, search.evaluations
            self._add_grad(kept["t"], kept["d"])
        else:
            self._add_grad(kept["t"], kept["d"])
            if last:
                return loss, flat_grad, False, 0
            loss, flat_grad, evaluations = self._signed(closure()), self._gather_flat_grad(), 1
        return loss, flat_grad, flat_grad.abs().max() <= group["tolerance_grad"], evaluations

    def _search(self, closure: Callable[[], Any], direction: Any, start: Point, left: int) -> StrongWolfe:
        initial = self._clone_param()

        def evaluate(t: Any) -> tuple[float, Any]:
            self._add_grad(t, direction)
            loss = self._signed(closure())
            flat_grad = self._gather_flat_grad()
            self._set_param(initial)
            return loss, flat_grad

        return StrongWolfe(evaluate, direction, start, max_ls=left)

    def _has_converged(self, kept: dict[str, Any], group: dict[str, Any], loss: float) -> bool:
        tolerance = group["tolerance_change"]
        return bool(kept["d"].mul(kept["t"]).abs().max() <= tolerance) or abs(loss - kept["prev_loss"]) < tolerance


def _two_loops(kept: dict[str, Any], al: list[Any], flat_grad: Any) -> Any:
    """Return the direction: minus the estimated inverse Hessian times the gradient."""
    dirs, steps, ro = kept["old_dirs"], kept["old_stps"], kept["ro"]
    q = flat_grad.neg()
    for i in reversed(range(len(dirs))):
        al[i] = steps[i].dot(q) * ro[i]
        q.add_(dirs[i], alpha=-al[i])
    direction = torch.mul(q, kept["H_diag"])
    for i in range(len(dirs)):
        be_i = dirs[i].dot(direction) * ro[i]
        direction.add_(steps[i], alpha=al[i] - be_i)
    return direction
