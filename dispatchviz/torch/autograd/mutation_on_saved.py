"""``allow_mutation_on_saved_tensors``: clone saved tensors before they are written to (``torch/autograd/graph.py``).

Saved tensors are identified by object, memory and version. A dispatch mode inspects the arguments that an operator
writes to, and clones the tensors saved from the same memory at the same version.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from dispatchviz.core.autograd.variables.variable import current_version
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch.autograd.saved_tensors_hooks import saved_tensors_hooks
from dispatchviz.torch.utils._python_dispatch import TorchDispatchMode

_enabled = False

Memory = tuple[int, int, int]
"""The storage, the offset in it, and the version."""

_OUTSIDE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
    "in which the graph was originally recorded."
)


class _Handle:
    """A handle for a saved tensor, which Nodes keep alive."""


class _AllowMutationOnSavedContext:
    """The versions and clones of the tensors saved so far."""

    def __init__(self) -> None:
        self.cloned: MutableMapping[_Handle, Tensor] = WeakKeyDictionary()
        self.original: MutableMapping[_Handle, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: MutableMapping[tuple[int, Memory], _Handle] = WeakValueDictionary()
        self.sid_to_tid: dict[Memory, set[tuple[int, Memory]]] = defaultdict(set)

    def clear(self) -> None:
        """Forget all tensors."""
        self.cloned.clear()
        self.original.clear()
        self.tid_to_weakhandle.clear()
        self.sid_to_tid.clear()


def _memory(tensor: Tensor) -> Memory:
    return id(tensor._storage), tensor._offset, current_version(tensor)


class _swap_with_cloned(saved_tensors_hooks):
    def __init__(self, ctx: _AllowMutationOnSavedContext) -> None:
        def pack_hook(tensor: Tensor) -> _Handle:
            memory = _memory(tensor)
            known = (id(tensor), memory)
            ctx.sid_to_tid[memory].add(known)
            handle = ctx.tid_to_weakhandle.get(known)
            if handle is None:
                handle = ctx.tid_to_weakhandle[known] = _Handle()
                ctx.original[handle] = tensor
            return handle

        def unpack_hook(handle: _Handle) -> Tensor:
            if not _enabled:
                raise AssertionError(_OUTSIDE)
            tensor = ctx.cloned.get(handle)
            if tensor is None:
                tensor = ctx.original.get(handle)
            if tensor is None:
                raise AssertionError(_OUTSIDE)
            return tensor

        super().__init__(pack_hook, unpack_hook)


class _CloneArgBeforeMutateMode(TorchDispatchMode):
    def __init__(self, ctx: _AllowMutationOnSavedContext) -> None:
        super().__init__()
        self.ctx = ctx

    def __torch_dispatch__(
        self, func: Any, types: Iterable[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        for index, argument in enumerate(func._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                value = kwargs["out"] if argument.is_out else args[index]
                for tensor in value if isinstance(value, list) else [value]:
                    self._clone_what_was_saved(tensor)
        return func(*args, **kwargs)

    def _clone_what_was_saved(self, tensor: Tensor) -> None:
        ctx = self.ctx
        for known in ctx.sid_to_tid.get(_memory(tensor), ()):
            handle = ctx.tid_to_weakhandle.get(known)  # dead if a backward has released it
            if handle is not None and handle not in ctx.cloned:
                ctx.cloned[handle] = ops.clone.call(ctx.original[handle], None)
                del ctx.original[handle]


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_AllowMutationOnSavedContext]:
    """Allow writes to saved tensors inside the block. The backward must be inside too.

    Raise RuntimeError for nested blocks, AssertionError for a backward outside.
    """
    global _enabled
    ctx = _AllowMutationOnSavedContext()
    with _swap_with_cloned(ctx), _CloneArgBeforeMutateMode(ctx):
        try:
            if _enabled:
                raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
            _enabled = True
            yield ctx
        finally:
            ctx.clear()
            _enabled = False
