"""``torch._C._functions``: the classes of Nodes (``torch/csrc/autograd/functions/init.cpp``).

NB: in PyTorch, Nodes of generated classes cannot be created by a call; here they can.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.autograd.graph import accumulate_grad, basic_nodes, copy_nodes, list_nodes
from dispatchviz.core.autograd.graph.node import Node
from dispatchviz.core.generated import nodes
from dispatchviz.torch.missing_names import missing

_SOURCES = (nodes, accumulate_grad, basic_nodes, copy_nodes, list_nodes)
_NO_CLASSES = ("Node", "TraceableFunction", "GraphRoot", "Identity")
"""Names in these modules that PyTorch does not expose as classes of Nodes."""


def _classes() -> dict[str, type[Node]]:
    found = {name: value for module in _SOURCES for name, value in vars(module).items() if _is_shown(name, value)}
    return dict(sorted(found.items()))


def _is_shown(name: str, value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Node) and name not in _NO_CLASSES


class DelayedError(basic_nodes.DelayedError):
    """A ``DelayedError`` that takes its message as bytes."""

    __slots__ = ()

    def __init__(self, message: bytes, num_inputs: int) -> None:
        super().__init__(message.decode(), num_inputs)


_CLASSES = {**_classes(), "DelayedError": DelayedError}


def __getattr__(name: str) -> Any:
    """Return a class of Nodes by its name."""
    if name in _CLASSES:
        return _CLASSES[name]
    raise missing(__name__, name)


def __dir__() -> list[str]:
    return sorted(_CLASSES)
