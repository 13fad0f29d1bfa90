"""Autograd of operators without a derivative: ``scatter`` with a ``reduce`` argument.

PyTorch generates these for every operator without an entry in derivatives.yaml
(``torch/csrc/autograd/generated/VariableType_*.cpp``): the result has a history, which raises when it is reached.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.autograd.graph import basic_nodes
from dispatchviz.core.autograd.variables.variable import collect_next_edges, compute_requires_grad, set_history
from dispatchviz.core.autograd.variables.variable_checks import check_inplace
from dispatchviz.core.autograd.variables.view_info import rebase_history
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys.key_set import after_autograd_keyset
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.guards import AutoDispatchBelowADInplaceOrView, AutoDispatchBelowAutograd

Kernel = Callable[..., Tensor]


def _functional(operator: Any, name: str) -> Kernel:
    def kernel(ks: int, *args: Any) -> Tensor:
        grad_fn = _node(name, args)
        with AutoDispatchBelowADInplaceOrView():
            result: Tensor = operator.redispatch(ks & after_autograd_keyset, *args)
        if grad_fn is not None:
            set_history(result, grad_fn)
        return result

    return kernel


def _in_place(operator: Any, name: str) -> Kernel:
    def kernel(ks: int, self: Tensor, *args: Any) -> Tensor:
        tensors = [arg for arg in (self, *args) if isinstance(arg, Tensor)]
        check_inplace(self, compute_requires_grad(*tensors))
        grad_fn = _node(name, tensors)
        with AutoDispatchBelowAutograd():
            operator.redispatch(ks & after_autograd_keyset, self, *args)
        if grad_fn is not None:
            rebase_history(self, grad_fn)
        return self

    return kernel


def _node(name: str, args: Any) -> basic_nodes.NotImplemented | None:
    tensors = [arg for arg in args if isinstance(arg, Tensor)]
    if not compute_requires_grad(*tensors):
        return None
    grad_fn = basic_nodes.NotImplemented(name)
    collect_next_edges(grad_fn, *tensors)
    return grad_fn


AUTOGRAD_KERNELS: dict[str, Kernel] = {
    "scatter.reduce": _functional(ops.scatter_reduce, "scatter"),
    "scatter.value_reduce": _functional(ops.scatter_value_reduce, "scatter"),
    "scatter_.reduce": _in_place(ops.scatter__reduce, "scatter_"),
    "scatter_.value_reduce": _in_place(ops.scatter__value_reduce, "scatter_"),
}
"""Kernels for the alias Autograd."""
