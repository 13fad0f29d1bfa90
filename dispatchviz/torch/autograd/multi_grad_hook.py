"""``register_multi_grad_hook``: one hook for the gradients of several tensors (``torch/autograd/graph.py``)."""

from __future__ import annotations

import functools
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from dispatchviz.core.autograd.graph.gradient_edge import grad_fn_or_accumulator
from dispatchviz.core.autograd.hooks.hooks import RemovableHandle
from dispatchviz.core.autograd.hooks.tensor_hooks import register_hook
from dispatchviz.core.autograd.variables.variable import requires_grad
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._C._engine import _current_graph_task_id, _will_engine_execute_node

_MODES = ("all", "any")


class _MultiHandle(RemovableHandle):
    """A handle that removes the hook of every tensor."""

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        """Remove the hooks. Calling it again has no effect."""
        for handle in self.handles:
            handle.remove()


_MultiHandle.__module__ = "torch.autograd.graph"


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], Any], *, mode: str = "all"
) -> RemovableHandle:
    """Call ``fn`` once per backward, with all gradients that it computes or with the first one (mode "any").

    Raise ValueError for another mode, AssertionError for a tensor without gradient (mode "all").
    """
    if mode not in _MODES:
        raise ValueError(f"Expects mode to be one of {_MODES} but got {mode}")
    if mode == "all":
        hooks = _All(tensors, fn)
        return _MultiHandle(tuple([register_hook(t, hooks.inner_hook(i)) for i, t in enumerate(tensors)]))
    wrapped = _once(fn)
    return _MultiHandle(tuple([register_hook(t, wrapped) for t in tensors if requires_grad(t)]))


class _All:
    """The gradients of each backward, by its id."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[[Any], Any]) -> None:
        self.fn = fn
        self.nodes = [grad_fn_or_accumulator(tensor) for tensor in tensors]
        self.count: dict[int, int] = {}
        self.buffer: dict[int, list[Tensor | None]] = {}
        self.calls = 0
        self.lock = threading.Lock()

    def inner_hook(self, index: int) -> Callable[[Tensor], None]:
        """Return the hook of one tensor."""

        def inner_hook(grad: Tensor) -> None:
            self.add(index, grad)

        return inner_hook

    def add(self, index: int, grad: Tensor) -> None:
        """Store a gradient; after the last one, call the user's function."""
        task = _task_id()
        self.count.setdefault(task, 0)
        self.buffer.setdefault(task, [None] * len(self.nodes))
        with self.lock:
            before = self.count[task]
            self.count[task] = before + 1
            if before == 0:
                self.calls = sum(map(_will_engine_execute_node, self.nodes))
        self.buffer[task][index] = grad
        if before == self.calls - 1:
            self.fn(self.buffer[task])
            del self.count[task]
            del self.buffer[task]


def _once(fn: Callable[[Any], Any]) -> Callable[[Tensor], None]:
    """Return a hook that calls the function only for the first gradient of a backward."""
    ran: defaultdict[int, bool] = defaultdict(bool)
    lock = threading.Lock()

    @functools.wraps(fn)
    def wrapped_fn(grad: Tensor) -> None:
        task = _task_id()
        with lock:
            before, ran[task] = ran[task], True
        if not before:
            fn(grad)

    return wrapped_fn


def _task_id() -> int:
    task = _current_graph_task_id()
    if task == -1:
        raise AssertionError("expected this hook to be called inside a backward call")
    return task
