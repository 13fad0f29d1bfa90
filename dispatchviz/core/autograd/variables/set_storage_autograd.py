"""Autograd of ``set_``, which has no derivative: the result has a Node that raises in backward.

PyTorch generates these kernels, as it does for all operators without an entry in derivatives.yaml.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.autograd.graph.basic_nodes import NotImplemented as NotImplementedNode
from dispatchviz.core.autograd.variables.variable import (
    collect_next_edges,
    compute_requires_grad,
    reset_grad_accumulator,
)
from dispatchviz.core.autograd.variables.variable_checks import check_inplace
from dispatchviz.core.autograd.variables.view_info import rebase_history
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys.key_set import after_autograd_keyset
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.guards import AutoDispatchBelowAutograd


def _setting(operator: Any) -> Callable[..., Tensor]:
    def kernel(ks: int, self: Tensor, *args: Any) -> Tensor:
        tensors = [self, *(value for value in args if isinstance(value, Tensor))]
        requires_grad = compute_requires_grad(*tensors)
        check_inplace(self, requires_grad)
        grad_fn = NotImplementedNode("set_") if requires_grad else None
        if grad_fn is not None:
            collect_next_edges(grad_fn, *tensors)
        with AutoDispatchBelowAutograd():
            operator.redispatch(ks & after_autograd_keyset, self, *args)
        if grad_fn is not None:
            rebase_history(self, grad_fn)
        reset_grad_accumulator(self)
        return self

    kernel.__name__ = kernel.__qualname__ = operator.__name__
    return kernel


AUTOGRAD_KERNELS: dict[str, Callable[..., Any]] = {
    "set_": _setting(ops.set_),
    "set_.source_Storage": _setting(ops.set__source_Storage),
    "set_.source_Storage_storage_offset": _setting(ops.set__source_Storage_storage_offset),
    "set_.source_Tensor": _setting(ops.set__source_Tensor),
}
"""Typed kernels by operator's name."""
