"""The conj and neg bits, set by hand (``torch/csrc/autograd/init.cpp``).

``set_autograd_fallback_mode`` of the same file is here too: what the Autograd fallback does about gradients.
"""

from __future__ import annotations

from dispatchviz.core.autograd.kernels import autograd_fallback
from dispatchviz.core.bindings.pybind import bound
from dispatchviz.core.tensor import conj_neg_bits
from dispatchviz.core.tensor.tensor import Tensor


@bound("_set_conj(arg0: torch.Tensor, arg1: bool) -> None")
def _set_conj(tensor: Tensor, conj: bool) -> None:
    """Changes the tensor's key set and nothing else."""
    conj_neg_bits.set_conj(tensor, conj)


@bound("_set_neg(arg0: torch.Tensor, arg1: bool) -> None")
def _set_neg(tensor: Tensor, neg: bool) -> None:
    """Changes the tensor's key set and nothing else."""
    conj_neg_bits.set_neg(tensor, neg)


@bound("_set_autograd_fallback_mode(arg0: str) -> None")
def _set_autograd_fallback_mode(mode: str) -> None:
    """``nothing`` or ``warn``. RuntimeError for ``error`` and for other strings."""
    autograd_fallback.set_autograd_fallback_mode(mode)


@bound("_get_autograd_fallback_mode() -> str")
def _get_autograd_fallback_mode() -> str:
    """``warn`` unless it was changed."""
    return autograd_fallback.get_autograd_fallback_mode()
