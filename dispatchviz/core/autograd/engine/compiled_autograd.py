"""``CompiledNodeArgs``, ``SwapSavedVariables``: the state of a Node, collected and swapped (``Node.compiled_args``,
``apply_with_saved``).

Mirrors ``torch/csrc/dynamo/compiled_autograd.h``. A capture of a whole backward is in ``captured_backward.py``.

Rule 1: the state of a Node is what is in the slots of its class. Saved tensors are lifted out, in the order of the
slots; all else is part of the key, so that captures with one key differ in their tensors only.
Rule 2: a swap is undone when the Node has run, whatever it raised.

NB: in PyTorch, sizes and numbers may be lifted out too; here they are part of the key.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from dispatchviz.core.autograd.function.python_function import FunctionBase
from dispatchviz.core.autograd.graph.node import Gradients, Node
from dispatchviz.core.autograd.graph.saved_variable import SavedVariable
from dispatchviz.core.tensor.tensor import Tensor


class CompiledNodeArgs:
    """Collects what makes a backward this one: ``key``, and the tensors that could be others."""

    def __init__(self) -> None:
        self.key: list[Hashable] = []
        self.tensors: list[Tensor | None] = []

    def collect(self, node: Node, name: str, value: Any) -> None:
        """One piece of the state of ``node``. RuntimeError if it is a saved tensor that was released."""
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
    """Replaces the tensors that Nodes keep, in the order in which they were collected."""

    def __init__(self, tensors: Sequence[Tensor | None]) -> None:
        self._tensors = iter(tensors)
        self._before: list[tuple[Node, str, Any]] = []

    def before(self, node: Node, name: str) -> None:
        """Swap one piece of state. ValueError if there are no tensors left for it."""
        value = getattr(node, name)
        self._before.append((node, name, value))
        setattr(node, name, self._swapped(value))

    def after(self) -> None:
        """Put back what was there."""
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
    """Every piece of state: whose, its name, its value. What is only there while the Node runs is no state."""
    if isinstance(node, FunctionBase):
        yield node, "_thp_saved", node._thp_saved
        return
    for cls in type(node).__mro__[: type(node).__mro__.index(Node)]:
        for name in vars(cls)["__slots__"]:
            if not name.startswith("_") and hasattr(node, name):
                yield node, name, getattr(node, name)


def _is_listed(node: Node) -> bool:
    """Classes without slots may keep anything."""
    return isinstance(node, FunctionBase) or not hasattr(node, "__dict__")


def compiled_args(node: Node, args: CompiledNodeArgs) -> None:
    """Collect all that ``node`` keeps. NotImplementedError for a Node that does not say what that is."""
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
    """Runs ``node`` with other tensors than it keeps. NotImplementedError as above."""
    if not _is_listed(node):
        raise NotImplementedError(f"apply_with_saved not implemented: {type(node).name(node)}")
    try:
        for owner, name, _ in list(state_of(node)):
            saved.before(owner, name)
        return node.apply(inputs)
    finally:
        saved.after()
