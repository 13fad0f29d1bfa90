"""Hooks that a program registers on tensors, and removes: told where PyTorch makes the handle.

Nothing is put in the place of a hook, nor beside it. Which Node a hook of a Node's own (``Node.register_hook``,
``register_prehook``) is on cannot be told: C++ asks Python for a handle without saying for which, and PyTorch's classes
of Nodes take no other methods. ``Tensor.retain_grad`` makes no handle.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from itertools import count
from sys import _getframe
from typing import TYPE_CHECKING, Any

from dispatchviz.core.autograd.hooks.hooks import recorded_name
from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.live.tensor_numbers import WeakNumbers

if TYPE_CHECKING:
    from types import CodeType

    from dispatchviz.live.live_recorder import LiveRecorder


@contextmanager
def hooks_followed(torch: Any, watch: LiveRecorder) -> Iterator[None]:
    """Inside the block; ``RemovableHandle`` is of ``torch/utils/hooks.py``."""
    handle = torch.utils.hooks.RemovableHandle
    initialize, take_away = handle.__init__, handle.remove
    kinds, told = _kinds(torch.Tensor), _RegisteredHooks(watch)

    @wraps(initialize)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        initialize(self, *args, **kwargs)
        kind = kinds.get(_getframe(1).f_code)
        if kind is not None and recorder.active is watch and watch.thread.watched:
            place = _getframe(1).f_locals
            watch.guarded(lambda: told.registered(kind, self, place["self"], place["hook"]))

    @wraps(take_away)
    def remove(self: Any) -> None:
        if recorder.active is watch and watch.thread.watched and isinstance(self, handle):
            watch.guarded(lambda: told.removed(vars(self).get("id")))
        take_away(self)

    handle.__init__, handle.remove = __init__, remove
    try:
        yield
    finally:
        handle.__init__, handle.remove = initialize, take_away


def _kinds(tensor: Any) -> dict[CodeType | None, ev.HookKind]:
    """By the code that makes the handle."""
    return {
        getattr(tensor.register_hook, "__code__", None): "tensor pre hook",
        getattr(tensor.register_post_accumulate_grad_hook, "__code__", None): "post-accumulate hook",
    }


class _RegisteredHooks:
    """Emits their events."""

    def __init__(self, watch: LiveRecorder) -> None:
        self._watch = watch
        self._numbers: dict[int, int] = {}
        """Of hooks that are there, by the id of the handle."""
        self._fresh = count()
        self._keepers = WeakNumbers()
        """By a tensor's dictionary of hooks the serial number of the Node that has it; NOBODY's if a leaf has it."""

    def registered(self, kind: ev.HookKind, handle: Any, tensor: Any, hook: Any) -> None:
        """A tensor is about to get a hook."""
        watch = self._watch
        watch.arrives(1)
        number = self._numbers[handle.id] = next(self._fresh)
        keeper = NOBODY if kind == "post-accumulate hook" else self._keeper(handle.hooks_dict_ref(), tensor)
        node = None if keeper == NOBODY else keeper - watch.first_node
        output_nr = tensor.output_nr
        watch._emit(ev.HookRegistered, kind, recorded_name(hook), number, node, watch._tensor(tensor), output_nr, False)

    def _keeper(self, hooks: Any, tensor: Any) -> int:
        """``Tensor.register_hook`` asks for ``grad_fn`` when it makes the dictionary; to ask again later might make
        another Node, of a view that was written to."""
        known = self._keepers.get(hooks)
        if known < 0:
            node = tensor.grad_fn
            known = NOBODY if node is None else self._watch.nodes.known(node)
            self._keepers.set(hooks, known)
        return known

    def removed(self, handle: int | None) -> None:
        """The handle with this id is asked to remove its hook; those of modules, of Nodes and older ones are not told
        of."""
        number = None if handle is None else self._numbers.pop(handle, None)
        if number is not None:
            self._watch.arrives(1)
            self._watch._emit(ev.HookRemoved, number)


NOBODY = 1 << 62
"""In place of the number of a Node."""
