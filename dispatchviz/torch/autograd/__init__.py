"""``torch.autograd``: ``backward``, ``grad``, the grad modes, anomaly mode, saved-tensor hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from dispatchviz.core.autograd.engine.backward_grad import backward, grad
from dispatchviz.torch.autograd import anomaly_mode as anomaly_mode
from dispatchviz.torch.autograd import forward_ad as forward_ad
from dispatchviz.torch.autograd import function as function
from dispatchviz.torch.autograd import functional as functional
from dispatchviz.torch.autograd import graph as graph
from dispatchviz.torch.autograd import profiler as profiler
from dispatchviz.torch.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from dispatchviz.torch.autograd.function import Function as Function
from dispatchviz.torch.autograd.variable import Variable
from dispatchviz.torch.grad_modes import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    no_grad,
    set_grad_enabled,
)

if TYPE_CHECKING:  # looked up when first used: ``_lazy_modules.ATTRIBUTES``
    from dispatchviz.torch.autograd.gradcheck import gradcheck as gradcheck
    from dispatchviz.torch.autograd.gradcheck import gradgradcheck as gradgradcheck

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "enforce_grad_layout_policy",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "variable",
]


def variable(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: the function was removed."""
    raise RuntimeError("torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead")


def _is_checkpoint_valid() -> bool:
    """Return False inside a backward that runs only a part of its graph, else True."""
    return Variable._execution_engine.is_checkpoint_valid()
