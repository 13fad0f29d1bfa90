"""Autograd kernels of ``_foreach_*``: they redispatch.

NB: in PyTorch, every tensor of the list gets a Node of its own; here gradients through such a call are refused.
Optimizers call it with grad mode off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dispatchviz.core.autograd.variables.variable import compute_requires_grad
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.generated import variable_type
from dispatchviz.core.keys.key_set import after_autograd_keyset
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.guards import AutoDispatchBelowADInplaceOrView, AutoDispatchBelowAutograd


def _tensors(args: tuple[Any, ...]) -> Iterator[Tensor]:
    for value in args:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (part for part in value if isinstance(part, Tensor))


def _redispatch(name: str) -> Callable[..., Any]:
    operator: Any = getattr(ops, name.replace(".", "_"))
    inplace = name.partition(".")[0].endswith("_")
    guard: Any = AutoDispatchBelowAutograd if inplace else AutoDispatchBelowADInplaceOrView

    def kernel(ks: int, *args: Any) -> Any:
        if compute_requires_grad(*_tensors(args)):
            raise NotImplementedError(f"gradients through {name} are not in dispatchviz's model of PyTorch")
        with guard():
            return operator.redispatch(ks & after_autograd_keyset, *args)

    kernel.__name__ = kernel.__qualname__ = operator.__name__
    return kernel


AUTOGRAD_KERNELS: dict[str, Callable[..., Any]] = {
    name: _redispatch(name) for name in variable_type.KERNELS if name.startswith("_foreach_")
}
"""Operator's name to typed kernel."""
