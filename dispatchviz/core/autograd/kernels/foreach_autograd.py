"""Autograd kernels of ``_foreach_*``, which redispatch.

NB: in PyTorch, every tensor of the list gets a Node of its own. Here gradients through these calls are refused.
Optimizers call them with grad mode off.
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
    """Return the kernel of an operator. Its class is looked up in a call, since most programs call none of these."""
    guard = AutoDispatchBelowAutograd if name.partition(".")[0].endswith("_") else AutoDispatchBelowADInplaceOrView
    class_name = name.replace(".", "_")

    def kernel(ks: int, *args: Any) -> Any:
        _check_no_gradient(name, args)
        with guard():
            return getattr(ops, class_name).redispatch(ks & after_autograd_keyset, *args)

    kernel.__name__ = kernel.__qualname__ = class_name
    return kernel


def _check_no_gradient(name: str, args: tuple[Any, ...]) -> None:
    if compute_requires_grad(*_tensors(args)):
        raise NotImplementedError(f"gradients through {name} are not in dispatchviz's model of PyTorch")


AUTOGRAD_KERNELS: dict[str, Callable[..., Any]] = {
    name: _redispatch(name) for name in variable_type.KERNELS if name.startswith("_foreach_")
}
"""Typed kernels by operator's name."""
