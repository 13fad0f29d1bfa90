"""The logger ``torch.autograd.graph``. At level DEBUG it logs each Node that runs and its gradients.

This module mirrors ``_register_logging_hooks_on_whole_graph`` of ``torch/autograd/graph.py``.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dispatchviz.core.autograd.graph.gradient_edge import GradientEdge, grad_fn_or_accumulator
from dispatchviz.core.autograd.graph.node import Node
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import thread

_LOGGER = "torch.autograd.graph"

_LETTERS = {"bfloat": "bf", "float": "f", "complex": "c", "uint": "u", "int": "i", "bool": "b8"}


def is_logged() -> bool:
    """Return whether the logger's level is DEBUG. It is not in a process that never loaded ``logging``."""
    logging = sys.modules.get("logging")
    return logging is not None and bool(_logger().isEnabledFor(logging.DEBUG))


@functools.cache
def _logger() -> Any:
    """The logger. It is cached, since ``logging`` looks it up under a lock."""
    return sys.modules["logging"].getLogger(_LOGGER)


def hooks_on_whole_graph(roots: Sequence[Tensor | GradientEdge]) -> Callable[[], None]:
    """Log every Node below the roots when it runs, until the returned function is called."""
    handles = [node.register_prehook(prehook) for node in _below([grad_fn_or_accumulator(root) for root in roots])]

    def unregister() -> None:
        for handle in handles:
            handle.remove()

    return unregister


def _below(roots: Sequence[Node]) -> Iterator[Node]:
    """Yield the Nodes below some Nodes, breadth first."""
    seen = dict.fromkeys(roots)
    waiting = list(roots)
    for node in waiting:
        yield node
        new = dict.fromkeys([edge.function for edge in node.next_edges if edge.function is not None])
        waiting += [target for target in new if target not in seen]
        seen.update(new)


def prehook(gradients: Sequence[Tensor | None]) -> None:
    """Log the Node that is about to run. The hook has the name that PyTorch gives it."""
    import logging

    shown = ",".join(map(_gradient_text, gradients))
    logging.getLogger(_LOGGER).debug(f"Executing: {thread.state.current_node} with grad_outputs: [{shown}]")


def _gradient_text(tensor: Tensor | None) -> str:
    if tensor is None:
        return "None"
    name = tensor._dtype.name
    word = name.rstrip("0123456789")
    return f"{_LETTERS[word]}{name.removeprefix(word)}[{', '.join(map(str, tensor._size))}]"
