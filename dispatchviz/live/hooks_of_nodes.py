"""Hooks that a program registers on a Node (``Node.register_hook``, ``register_prehook``).

C++ asks Python for a handle without saying for which Node (``callRegisterFn`` of ``python_cpp_function.cpp``), and
PyTorch's classes of Nodes take no other methods. But it lets go of the answer when the Node has its hook: then the Node
is found, among those that Python has an object of, as the one that has this dictionary; those that the calling function
has in its variables are asked first. To be asked for its dictionary a Node is offered a hook, which is turned down.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from sys import _getframe
from typing import TYPE_CHECKING, Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.deletion import Deletion, deletion
from dispatchviz.core.seam.outside_errors import own_errors_suppressed

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder

Told = Callable[[Any, Any, Any, Iterable[Any]], None]
"""Gets the dictionary of hooks, the handle, the hook, and what the Node may be among."""


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
        if recorder.listening is not watch or not watch.thread.watched:
            return hooks, handle
        near = _values(_getframe(1).f_locals)
        return hooks, handle, _Afterwards(watch, lambda: told(hooks, handle, hook, near))

    mixin._register_hook = staticmethod(_register_hook)
    try:
        yield
    finally:
        mixin._register_hook = original


class _Afterwards:
    """Calls a function of ours when PyTorch no longer holds this."""

    __slots__ = ("__del__",)
    __del__: Deletion

    def __init__(self, watch: LiveRecorder, function: Callable[[], None]) -> None:
        self.__del__ = deletion(lambda: watch.guarded(function))


class _TurnedDownError(Exception):
    """A hook that is not to be registered."""


class _Offered:
    """In place of a hook; gets what the Node keeps such hooks in."""

    hooks: Any = None


def _values(variables: Mapping[str, Any]) -> Iterable[Any]:
    """What variables hold, and then what is in their lists, tuples and dictionaries."""
    values = list(variables.values())
    return chain(values, chain.from_iterable(map(_inside, values)))


def _inside(value: Any) -> Iterable[Any]:
    kind = type(value)
    return value if kind is list or kind is tuple else value.values() if kind is dict else ()


def node_with(hooks: Any, near: Iterable[Any]) -> tuple[Any, ev.HookKind] | None:
    """The Node that keeps its own hooks in this dictionary, and their kind; None if Python has no object of it."""
    known: dict[int, Registering] = {}
    # to look through all objects takes a tenth of a second; if it is in no variable, it was mostly made on this line
    for thing in chain(near, chain.from_iterable(map(gc.get_objects, range(3)))):
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
    with own_errors_suppressed(_TurnedDownError, RuntimeError):
        register(node, offered)
    return offered.hooks
