"""Hooks that a program registers and removes, recorded where PyTorch makes the handle.

The Node of a hook is found in ``hooks_of_nodes.py``. ``Tensor.retain_grad``, which makes no handle, is in
``retained_gradients.py``; running hooks are in ``running_hooks.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from itertools import count
from sys import _getframe
from typing import TYPE_CHECKING, Any

from dispatchviz.core.autograd.hooks.hooks import recorded_name
from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.live.hooks_of_nodes import node_hooks_followed, node_with
from dispatchviz.live.retained_gradients import retaining_followed
from dispatchviz.live.running_hooks import NO_NODE

if TYPE_CHECKING:
    from types import CodeType

    from dispatchviz.live.live_recorder import LiveRecorder
    from dispatchviz.live.running_hooks import KeptHooks


@contextmanager
def hooks_followed(torch: Any, watch: LiveRecorder) -> Iterator[None]:
    """Record registered and removed hooks inside the block. ``RemovableHandle`` is in ``torch/utils/hooks.py``."""
    handle = torch.utils.hooks.RemovableHandle
    initialize, take_away = handle.__init__, handle.remove
    kinds, recorded = _kinds(torch.Tensor), _RegisteredHooks(watch)

    @wraps(initialize)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        initialize(self, *args, **kwargs)
        kind = kinds.get(_getframe(1).f_code)
        if kind is not None and recorder.listening is watch and watch.thread.watched:
            place = _getframe(1).f_locals
            watch.guarded(lambda: recorded.registered(kind, self, place["self"], place["hook"]))
        elif kind is not None and recorder.suspended is watch:
            leaf = _getframe(1).f_locals["self"]
            watch.guarded(lambda: recorded.registered_outside(kind, self, leaf))

    @wraps(take_away)
    def remove(self: Any) -> None:
        if recorder.listening is watch and watch.thread.watched and isinstance(self, handle):
            watch.guarded(lambda: recorded.removed(vars(self).get("id")))
        take_away(self)

    handle.__init__, handle.remove = __init__, remove
    try:
        with node_hooks_followed(torch, watch, recorded.registered_on_node), retaining_followed(torch, watch):
            yield
    finally:
        handle.__init__, handle.remove = initialize, take_away


def _kinds(tensor: Any) -> dict[CodeType | None, ev.HookKind]:
    """Return the kinds of hooks by the code that makes the handle."""
    return {
        getattr(tensor.register_hook, "__code__", None): "tensor pre hook",
        getattr(tensor.register_post_accumulate_grad_hook, "__code__", None): "post-accumulate hook",
    }


class _RegisteredHooks:
    """The recorder of registered hooks."""

    def __init__(self, watch: LiveRecorder) -> None:
        self._watch = watch
        self._running = watch.engine.hooks
        self._numbers: dict[int, int] = {}
        """Numbers of the present hooks, by the id of the handle."""
        self._fresh = count()

    def registered(self, kind: ev.HookKind, handle: Any, tensor: Any, hook: Any) -> None:
        """Record that a tensor is about to get a hook."""
        watch, hooks = self._watch, handle.hooks_dict_ref()
        watch.line_calls(1)
        kept = self._running.of(hooks) or self._kept(kind, hooks, tensor)
        number = self._numbers[handle.id] = next(self._fresh)
        node = None if kept.node == NO_NODE else kept.node - watch.first_node
        output_nr = tensor.output_nr
        watch._emit(ev.HookRegistered, kind, recorded_name(hook), number, node, watch._tensor(tensor), output_nr, False)
        self._running.gets_another(kept)

    def registered_outside(self, kind: ev.HookKind, handle: Any, tensor: Any) -> None:
        """Remember the hooks of a leaf that is about to get one while nothing is recorded. A Node would have to be
        numbered first.
        """
        hooks = handle.hooks_dict_ref()
        if self._running.of(hooks) is None and (kind == "post-accumulate hook" or tensor.grad_fn is None):
            self._running.keep(hooks, kind, NO_NODE, leaf=tensor)

    def _kept(self, kind: ev.HookKind, hooks: Any, tensor: Any) -> KeptHooks:
        """Return the record of a tensor's dictionary of hooks.

        ``Tensor.register_hook`` reads ``grad_fn`` when it makes the dictionary. Reading it later might make another
        Node, for a view that was written to.
        """
        node = None if kind == "post-accumulate hook" else tensor.grad_fn
        if node is None:
            return self._running.keep(hooks, kind, NO_NODE, leaf=tensor)
        several = len(node._input_metadata) > 1
        return self._running.keep(hooks, kind, self._watch.nodes.known(node), several=several)

    def registered_on_node(self, hooks: Any, handle: Any, hook: Any, near: Iterable[Any]) -> None:
        """Record that a Node has got a hook of its own. ``near`` are objects among which the Node may be. Nothing is
        recorded if it is not found.
        """
        watch = self._watch
        watch.line_calls(1)
        kept = self._running.of(hooks)
        if kept is None:
            if (found := node_with(hooks, near)) is None:
                return
            node, kind = found
            kept = self._running.keep(hooks, kind, watch.nodes.known(node))
        number = self._numbers[handle.id] = next(self._fresh)
        fields = recorded_name(hook), number, kept.node - watch.first_node, None, 0, False
        watch._emit(ev.HookRegistered, kept.kind, *fields)
        self._running.gets_another(kept)

    def removed(self, handle: int | None) -> None:
        """Record that the handle with this id is asked to remove its hook. Hooks of modules and older hooks are not
        recorded.
        """
        number = None if handle is None else self._numbers.pop(handle, None)
        if number is not None:
            self._watch.line_calls(1)
            self._watch._emit(ev.HookRemoved, number)
