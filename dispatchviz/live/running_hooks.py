"""Hooks of an installed PyTorch while they run.

While the engine runs, each hook whose registration was seen is replaced in its dictionary by a wrapper that calls and
records it. Hooks that are registered meanwhile are replaced once the hook that registers them has returned. Afterwards
the dictionary has its old contents.

PyTorch takes a hook's name for its errors from the object in the dictionary, so the wrapper has all attributes of the
hook. The hook of ``Tensor.retain_grad`` is in no dictionary.
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
    """A weak reference to a dictionary of hooks: those of one kind on one tensor or Node."""

    __slots__ = ("kind", "leaf", "node", "several")
    kind: ev.HookKind
    node: int
    """The serial number of the Node that has the hooks, or NO_NODE if a leaf has them."""
    leaf: weakref.ref[Any] | None
    several: bool
    """True if each hook receives one of several gradients that the Node receives."""


NO_NODE = -1
"""A stand-in for the number of a Node."""


class RunningHooks:
    """The recorder of hooks as they run."""

    def __init__(self, watch: LiveRecorder) -> None:
        self._watch = watch
        self._kept: dict[int, KeptHooks] = {}
        """Dictionaries of hooks by their ``id``."""
        self._fresh: list[KeptHooks] = []
        """Dictionaries that get a hook while the engine runs."""
        self._passes = 0
        self._lock = Lock()

    def of(self, hooks: Any) -> KeptHooks | None:
        """Return the record of a dictionary of hooks, or None if it is unknown."""
        kept = self._kept.get(id(hooks))
        return kept if kept is not None and kept() is hooks else None

    def keep(self, hooks: Any, kind: ev.HookKind, node: int, leaf: Any = None, several: bool = False) -> KeptHooks:
        """Remember a dictionary of hooks."""
        key = id(hooks)
        kept = self._kept[key] = KeptHooks(
            hooks, partial(self._kept.pop, key)
        )  # no Python code: exceptions are ignored there
        kept.kind, kept.node, kept.several = kind, node, several
        kept.leaf = None if leaf is None else weakref.ref(leaf)
        return kept

    def gets_another(self, kept: KeptHooks) -> None:
        """Note that a dictionary is about to get another hook."""
        if self._passes:
            self._fresh.append(kept)

    # -- the dictionaries ---------------------------------------------------------------------------------------------

    def put(self) -> None:
        """Replace the hooks by wrappers, because the engine begins. PyTorch's compiler gets them unchanged."""
        with self._lock:
            self._passes += 1
            for kept in list(self._kept.values()):
                self._wrap(kept)

    def take_out(self) -> None:
        """Put the hooks back, because the engine has returned."""
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

    # -- running hooks ------------------------------------------------------------------------------------------------

    def call(self, hook: Any, kept: KeptHooks, args: tuple[Any, ...], caller: FrameType | None) -> Any:
        """Return the result of a hook. Record it if the engine calls it on this thread."""
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
        """Emit the event that a hook returned. A result that the engine refuses is no event."""
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
        """Return the serial number of the Node that has the hooks, or -1 if it is unknown."""
        if kept.leaf is None:
            return kept.node
        leaf = kept.leaf()
        return NO_NODE if leaf is None else self._watch.nodes.numbers.accumulators.get(leaf)

    def _accepts(self, before: Any, result: Any) -> bool:
        """Return whether the engine accepts the result (``check_result`` of ``python_hook.cpp``)."""
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
    """A wrapper in the place of a hook while the engine runs. Its attributes are those of the hook."""

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
"""Readers of a wrapper's own attributes."""

copyreg.pickle(WatchedHook, lambda watched: (copy.copy, (hook_of(watched),)))


def _items(hooks: Any) -> Sequence[tuple[Any, Any]]:
    """Return the present hooks; none for a dictionary that is gone."""
    return () if hooks is None else list(hooks.items())


def _unwrap(kept: KeptHooks) -> None:
    hooks: Any = kept()
    for number, hook in _items(hooks):
        if type(hook) is WatchedHook:
            hooks[number] = hook_of(hook)
