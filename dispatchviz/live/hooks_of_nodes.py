"""Hooks that a program registers on a Node (``Node.register_hook``, ``register_prehook``).

C++ asks Python for a handle without saying for which Node (``callRegisterFn`` of ``python_cpp_function.cpp``), and
PyTorch's classes of Nodes take no other methods. But it lets go of the answer when the Node has its hook: then the Node
is found, among those that Python has an object of, as the one that has this dictionary. To be asked for its dictionary
a Node is offered a hook, which is turned down.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder

Told = Callable[[Any, Any, Any], None]
"""Gets the dictionary of hooks, the handle, the hook."""


@contextmanager
def node_hooks_followed(torch: Any, watch: LiveRecorder, told: Told) -> Iterator[None]:
    """Inside the block ``told`` is called for each hook that a Node has got."""
    mixin = torch.autograd.function._HookMixin
    original = vars(mixin)["_register_hook"]
    answer = original.__func__

    def _register_hook(backward_hooks: Any, hook: Any) -> tuple[Any, ...]:
        if type(hook) is _Offered:
            hook.hooks = backward_hooks
            raise _TurnedDownError
        hooks, handle = answer(backward_hooks, hook)
        if recorder.active is not watch or not watch.thread.watched:
            return hooks, handle
        return hooks, handle, _Afterwards(lambda: watch.guarded(lambda: told(hooks, handle, hook)))

    mixin._register_hook = staticmethod(_register_hook)
    try:
        yield
    finally:
        mixin._register_hook = original


class _Afterwards:
    """Calls a function when nobody holds this any longer."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function

    def __del__(self) -> None:
        self._function()


class _TurnedDownError(Exception):
    """A hook that is not to be registered."""


class _Offered:
    """In place of a hook; gets what the Node keeps such hooks in."""

    hooks: Any = None


def node_with(hooks: Any) -> tuple[Any, ev.HookKind] | None:
    """The Node that keeps its own hooks in this dictionary, and their kind; None if Python has no object of it."""
    known: dict[int, Registering] = {}
    for generation in range(3):  # the object was mostly made on the same line
        for thing in gc.get_objects(generation):
            key = id(type(thing))
            if key not in known:
                known[key] = _registering(type(thing))
            for kind, register in known[key]:
                if _dictionary(thing, register) is hooks:
                    return thing, kind
    return None


Registering = tuple[tuple[ev.HookKind, Callable[[Any, Any], Any]], ...]
"""Kinds of hooks, each with what registers one on a Node."""


def _registering(kind: type) -> Registering:
    """Empty of all classes but those of Nodes."""
    for one in type.__getattribute__(kind, "__mro__"):
        own = type.__getattribute__(one, "__dict__")
        if "_register_hook_dict" in own:
            return ("pre hook", own["register_prehook"]), ("post hook", own["register_hook"])
    return ()


def _dictionary(node: Any, register: Callable[[Any, Any], Any]) -> Any:
    """What a Node keeps such hooks in; None if it has none, and of a context whose Node is gone."""
    offered = _Offered()
    with suppress(_TurnedDownError, RuntimeError):
        register(node, offered)
    return offered.hooks
