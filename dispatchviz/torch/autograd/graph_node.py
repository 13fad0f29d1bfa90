"""``torch.autograd.graph.Node``: the abstract class that every Node is an instance of (``torch/autograd/graph.py``)."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

from dispatchviz.core.autograd.function.python_function import FunctionBase
from dispatchviz.core.autograd.graph import node as core
from dispatchviz.core.autograd.hooks.hooks import RemovableHandle
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._namespace import torch


class Node(abc.ABC):
    """The methods and attributes of a Node in Python. No class derives from it; ``isinstance`` checks for a Node."""

    @abc.abstractmethod
    def name(self) -> str:
        """Return the name of the Node, such as ``MulBackward0``."""
        raise NotImplementedError

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The edges: the Nodes that receive its gradients, and their input numbers."""
        raise NotImplementedError

    @abc.abstractmethod
    def metadata(self) -> dict[str, Any]:
        """Return a dict for the user's data."""
        raise NotImplementedError

    @abc.abstractmethod
    def _sequence_nr(self) -> int:
        raise NotImplementedError

    @property
    @abc.abstractmethod
    def _input_metadata(self) -> list[Any]:
        raise NotImplementedError

    @abc.abstractmethod
    def _register_hook_dict(self, tensor: Tensor) -> None:
        raise NotImplementedError

    @abc.abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Register ``fn(grad_inputs, grad_outputs)``, which runs after the Node."""
        raise NotImplementedError

    @abc.abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Register ``fn(grad_outputs)``, which runs before the Node."""
        raise NotImplementedError

    @classmethod
    def __subclasshook__(cls, subclass: type) -> bool:
        is_node = issubclass(subclass, core.Node) and (
            not issubclass(subclass, FunctionBase) or issubclass(subclass, torch.autograd.function.BackwardCFunction)
        )
        return True if cls is Node and is_node else NotImplemented
