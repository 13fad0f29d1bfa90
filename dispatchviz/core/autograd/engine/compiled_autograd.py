"""``CompiledNodeArgs``, ``SwapSavedVariables``: the state of a Node, collected and swapped (``Node.compiled_args``,
``apply_with_saved``).

This module mirrors ``torch/csrc/dynamo/compiled_autograd.h``. A capture of a whole backward is in
``captured_backward.py``.

Rule 1: the state of a Node is in the slots of its class. Saved tensors are lifted out, in the order of the slots.
Everything else is part of the key, so that captures with one key differ only in their tensors.
Rule 2: a swap is undone when the Node has run, even if it raised.

NB: in PyTorch, sizes and numbers may be lifted out too. Here they are part of the key.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from dispatchviz.core.autograd.function.python_function import FunctionBase
from dispatchviz.core.autograd.graph.node import Gradients, Node
from dispatchviz.core.autograd.graph.saved_variable import SavedVariable
from dispatchviz.core.tensor.tensor import Tensor


class CompiledNodeArgs:
    """The collected state of a backward: a ``key``, and the tensors that may be swapped."""

    def __init__(self) -> None:
        self.key: list[Hashable] = []
        self.tensors: list[Tensor | None] = []

    def collect(self, node: Node, name: str, value: Any) -> None:
        """Collect one piece of the state of ``node``. Raise RuntimeError if it is a saved tensor that was released."""
        if isinstance(value, Node):
            compiled_args(value, self)
        elif isinstance(value, SavedVariable):
            self._lift(value.unpack(node))
        elif isinstance(value, Tensor):
            self._lift(value)
        elif isinstance(value, (list, tuple)):
            self.key.append((name, len(value)))
            for one in value:
                self.collect(node, name, one)
        else:
            self.key.append((name, value if isinstance(value, Hashable) else repr(value)))

    def _lift(self, tensor: Tensor | None) -> None:
        self.tensors.append(tensor)
        self.key.append(None if tensor is None else (tensor._size, tensor._dtype, tensor._device))


class SwapSavedVariables:
    """A swap of the tensors that Nodes save, in the order in which they were collected."""

    def __init__(self, tensors: Sequence[Tensor | None]) -> None:
        self._tensors = iter(tensors)
        self._before: list[tuple[Node, str, Any]] = []

    def before(self, node: Node, name: str) -> None:
        """Swap one piece of state. Raise ValueError if there are no tensors left for it."""
        value = getattr(node, name)
        self._before.append((node, name, value))
        setattr(node, name, self._swapped(value))

    def after(self) -> None:
        """Restore the original state."""
        while self._before:
            node, name, value = self._before.pop()
            setattr(node, name, value)

    def _swapped(self, value: Any) -> Any:
        if isinstance(value, Node):
            for node, name, _ in state_of(value):
                self.before(node, name)
        elif isinstance(value, SavedVariable):
            return SavedVariable(self._next())
        elif isinstance(value, Tensor):
            return self._next()
        elif isinstance(value, list):
            return [self._swapped(one) for one in value]
        return value

    def _next(self) -> Tensor | None:
        try:
            return next(self._tensors)
        except StopIteration:
            raise ValueError("a replayed backward needs as many saved tensors as were captured") from None


def state_of(node: Node) -> Iterator[tuple[Node, str, Any]]:
    """Yield every piece of state: its Node, its name, its value. Attributes that exist only while the Node runs are
    left out.
    """
    if isinstance(node, FunctionBase):
        yield node, "_thp_saved", node._thp_saved
        return
    for cls in type(node).__mro__[: type(node).__mro__.index(Node)]:
        for name in vars(cls)["__slots__"]:
            if not name.startswith("_") and hasattr(node, name):
                yield node, name, getattr(node, name)


def _is_listed(node: Node) -> bool:
    """Return whether all state of the Node is known. A class without slots may have other attributes."""
    return isinstance(node, FunctionBase) or not hasattr(node, "__dict__")


def compiled_args(node: Node, args: CompiledNodeArgs) -> None:
    """Collect all state of ``node``. Raise NotImplementedError for a Node whose state is not known."""
    if not _is_listed(node):
        raise NotImplementedError(f"compiled_args not implemented: {type(node).name(node)}")
    args.key.append(type(node).name(node))
    if isinstance(node, FunctionBase):
        _function_args(node, args)
    for owner, name, value in state_of(node):
        args.collect(owner, name, value)


def _function_args(node: FunctionBase, args: CompiledNodeArgs) -> None:
    key = node._compiled_autograd_key()
    if not isinstance(key, tuple):
        raise RuntimeError("_compiled_autograd_key should return tuple of ints")
    args.key += [
        key,
        node._thp_materialize,
        node._thp_materialize_non_diff,
        node._thp_is_variable_input,
        node._thp_needs,
    ]


def apply_with_saved(node: Node, inputs: Gradients, saved: SwapSavedVariables) -> Gradients:
    """Run ``node`` with other tensors than it saved. Raise NotImplementedError for a Node whose state is not known."""
    if not _is_listed(node):
        raise NotImplementedError(f"apply_with_saved not implemented: {type(node).name(node)}")
    try:
        for owner, name, _ in list(state_of(node)):
            saved.before(owner, name)
        return node.apply(inputs)
    finally:
        saved.after()
