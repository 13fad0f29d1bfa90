"""``torch.autograd``: ``backward``, ``grad`` and the grad modes."""

from __future__ import annotations

from dispatchviz.core.autograd.interface import backward, grad
from dispatchviz.core.tensor import Tensor as Variable
from dispatchviz.torch.autograd import forward_ad as forward_ad
from dispatchviz.torch.autograd import function as function
from dispatchviz.torch.autograd.function import Function as Function
from dispatchviz.torch.grad_modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["Function", "Variable", "backward", "enable_grad", "grad", "inference_mode", "no_grad", "set_grad_enabled"]
