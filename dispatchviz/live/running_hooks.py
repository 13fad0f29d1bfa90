"""Hooks of a real PyTorch as they run: while the engine does, a hook that was seen to be registered stands in its
dictionary within something that calls it and tells; so do those that are registered meanwhile, once the hook that
registers them has returned. Afterwards the dictionary holds what it held.

PyTorch takes a hook's name for its errors from what is in the dictionary, so that has all that the hook has. The hook
of ``Tensor.retain_grad`` is in no dictionary.
"""

from __future__ import annotations

import copy
import copyreg
import sys
import weakref
from collections.abc import Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from dispatchviz.core.autograd.hooks.hooks import recorded_name
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events.hook_events import BEHIND_NODE
from dispatchviz.core.seam import recorder

if TYPE_CHECKING:
    from types import FrameType

    from dispatchviz.live.live_recorder import LiveRecorder


class KeptHooks(weakref.ref[Any]):
    """Hooks of one kind on one thing, which this does not keep alive."""

    __slots__ = ("kind", "leaf", "node", "several")
    kind: ev.HookKind
    node: int
    """Serial number of the Node that has them; NOBODY if a leaf has."""
    leaf: weakref.ref[Any] | None
    several: bool
    """Each gets one of several gradients that the Node receives."""


NOBODY = -1
"""In place of the number of a Node."""


class RunningHooks:
    """Emits their events."""

    def __init__(self, watch: LiveRecorder) -> None:
        self._watch = watch
        self._kept: dict[int, KeptHooks] = {}
        """By ``id`` of the dictionary."""
        self._fresh: list[KeptHooks] = []
        """Those that get a hook while the engine runs."""
        self._passes = 0
        self._lock = Lock()

    def of(self, hooks: Any) -> KeptHooks | None:
        """What is known of a dictionary of hooks."""
        kept = self._kept.get(id(hooks))
        return kept if kept is not None and kept() is hooks else None

    def keep(self, hooks: Any, kind: ev.HookKind, node: int, leaf: Any = None, several: bool = False) -> KeptHooks:
        """Knows of a dictionary from now on."""
        key = id(hooks)
        kept = self._kept[key] = KeptHooks(
            hooks, partial(self._kept.pop, key)
        )  # no Python code: exceptions are ignored there
        kept.kind, kept.node, kept.several = kind, node, several
        kept.leaf = None if leaf is None else weakref.ref(leaf)
        return kept

    def gets_another(self, kept: KeptHooks) -> None:
        """A hook is about to be in there."""
        if self._passes:
            self._fresh.append(kept)

    # -- who stands in the dictionaries -------------------------------------------------------------------------------

    def put(self) -> None:
        """The engine begins. Where it hands the hooks to PyTorch's compiler, they are as they are."""
        with self._lock:
            self._passes += 1
            for kept in list(self._kept.values()):
                self._wrap(kept)

    def take_out(self) -> None:
        """The engine has returned."""
        with self._lock:
            self._passes -= 1
            if not self._passes:
                self._fresh.clear()
                for kept in list(self._kept.values()):
                    _unwrap(kept)

    def _wrap(self, kept: KeptHooks) -> None:
        hooks: Any = kept()
        for number, hook in _items(hooks):
            if type(hook) is not WatchedHook and type(number) is int:  # ours have another key
                hooks[number] = WatchedHook(hook, kept, self)

    def _wrap_fresh(self) -> None:
        with self._lock:
            while self._fresh:
                self._wrap(self._fresh.pop())

    # -- as one runs --------------------------------------------------------------------------------------------------

    def call(self, hook: Any, kept: KeptHooks, args: tuple[Any, ...], caller: FrameType | None) -> Any:
        """The result of the hook, which the engine calls on this thread; otherwise nothing is told."""
        watch = self._watch
        if recorder.listening is not watch or not watch.thread.watched or not watch.engine.calls(caller):
            return hook(*args)
        thread = watch.thread
        paused = watch.guarded(lambda: watch.engine.hook_begins(thread, kept.kind in BEHIND_NODE))
        try:
            result = hook(*args)
        finally:
            thread.evaluation = paused
            if self._fresh:
                self._wrap_fresh()
        if recorder.listening is watch:
            watch.guarded(lambda: self._ran(hook, kept, args[0], result))
        return result

    def _ran(self, hook: Any, kept: KeptHooks, before: Any, result: Any) -> None:
        """It returned; what the engine refuses is no event."""
        watch, node = self._watch, self._node(kept)
        replaced = result is not None and result is not before
        if node < 0 or (replaced and not self._accepts(before, result)):
            return
        after: tuple[int | None, ...] = ()
        if replaced and kept.kind in ("pre hook", "post hook"):
            after = tuple([None if one is None else watch._tensor(one) for one in result])
        elif replaced and kept.kind == "tensor pre hook" and not kept.several:
            after = (watch._tensor(result),)
        replaced = replaced and kept.kind != "post-accumulate hook"
        watch._emit(ev.HookRan, kept.kind, node - watch.first_node, recorded_name(hook), replaced, False, after)

    def _node(self, kept: KeptHooks) -> int:
        """Its serial number; -1 if nobody knows it."""
        if kept.leaf is None:
            return kept.node
        leaf = kept.leaf()
        return NOBODY if leaf is None else self._watch.nodes.numbers.accumulators.get(leaf)

    def _accepts(self, before: Any, result: Any) -> bool:
        """Return whether the engine does (``check_result`` of ``python_hook.cpp``)."""
        if not isinstance(before, tuple):
            return self._fits(before, result)
        return (
            isinstance(result, tuple)
            and len(result) == len(before)
            and all(one is None or self._fits(old, one) for old, one in zip(before, result, strict=True))
        )

    def _fits(self, old: Any, new: Any) -> bool:
        tensor = self._watch.torch.Tensor
        if not isinstance(old, tensor) or not isinstance(new, tensor):
            return False
        with self._watch.torch._C.DisableTorchFunction():
            return bool(old.size() == new.size() and old.type() == new.type())


class WatchedHook:
    """In the place of a hook while the engine runs: what is asked of this is asked of the hook."""

    __slots__ = ("__getattribute__", "__weakref__", "_hook", "_kept", "_running")

    def __init__(self, hook: Any, kept: KeptHooks, running: RunningHooks) -> None:
        self._hook, self._kept, self._running = hook, kept, running
        # no Python code: PyTorch asks whether a hook has a name, and ignores exceptions there
        self.__getattribute__ = partial(getattr, hook)  # type: ignore[method-assign]

    def __call__(self, *args: Any) -> Any:
        return _running_of(self).call(hook_of(self), _kept_of(self), args, sys._getframe().f_back)

    def __repr__(self) -> str:
        return repr(hook_of(self))

    def __eq__(self, other: object) -> bool:
        return bool(hook_of(self) == (hook_of(other) if type(other) is WatchedHook else other))

    def __hash__(self) -> int:
        return hash(hook_of(self))


hook_of, _kept_of, _running_of = (vars(WatchedHook)[name].__get__ for name in WatchedHook.__slots__[2:])
"""What such a thing has of its own."""

copyreg.pickle(WatchedHook, lambda watched: (copy.copy, (hook_of(watched),)))


def _items(hooks: Any) -> Sequence[tuple[Any, Any]]:
    """As they are now; none of a dictionary that is gone."""
    return () if hooks is None else list(hooks.items())


def _unwrap(kept: KeptHooks) -> None:
    hooks: Any = kept()
    for number, hook in _items(hooks):
        if type(hook) is WatchedHook:
            hooks[number] = hook_of(hook)
