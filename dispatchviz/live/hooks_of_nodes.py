"""Hooks that a program registers on a Node (``Node.register_hook``, ``register_prehook``).

C++ asks Python for a handle without naming the Node (``callRegisterFn`` of ``python_cpp_function.cpp``), and the
methods of PyTorch's Node classes cannot be replaced. But PyTorch drops the result once the Node has its hook. Then the
recorder looks for the Node that has this dictionary of hooks, among the Nodes that have a Python object. It tries those
in the variables of the calling function first. To read the dictionary of a Node, the recorder offers it a hook and then
refuses to register that hook.
"""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain
from sys import _getframe
from typing import TYPE_CHECKING, Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.deletion import Deletion, deletion
from dispatchviz.core.seam.outside_errors import own_errors_suppressed

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder

Report = Callable[[Any, Any, Any, Iterable[Any]], None]
"""A function that takes the dictionary of hooks, the handle, the hook, and the objects among which the Node may be."""


class OurHook(partial[None]):
    """A hook of the recorder. Its last argument is its key in the Node's dictionary of hooks. A handle would take twice
    the time, and would use one of the ids that the program's hooks get.
    """


@contextmanager
def node_hooks_followed(torch: Any, watch: LiveRecorder, report: Report) -> Iterator[None]:
    """Call ``report`` for each hook that a Node has got, inside the block."""
    mixin = torch.autograd.function._HookMixin
    original = vars(mixin)["_register_hook"]
    answer = original.__func__

    def _register_hook(backward_hooks: Any, hook: Any) -> tuple[Any, ...]:
        if type(hook) is OurHook:
            hooks = OrderedDict() if backward_hooks is None else backward_hooks
            hooks[hook.args[-1]] = hook
            return hooks, hooks
        if type(hook) is _Offered:
            hook.hooks = backward_hooks
            raise _TurnedDownError
        hooks, handle = answer(backward_hooks, hook)
        if recorder.listening is not watch or not watch.thread.watched:
            return hooks, handle
        near = _values(_getframe(1).f_locals)
        return hooks, handle, _Afterwards(watch, lambda: report(hooks, handle, hook, near))

    mixin._register_hook = staticmethod(_register_hook)
    try:
        yield
    finally:
        mixin._register_hook = original


class _Afterwards:
    """An object that calls one of our functions when PyTorch no longer holds it."""

    __slots__ = ("__del__",)
    __del__: Deletion

    def __init__(self, watch: LiveRecorder, function: Callable[[], None]) -> None:
        self.__del__ = deletion(lambda: watch.guarded(function))


class _TurnedDownError(Exception):
    """Raised instead of registering a hook that was only offered."""


class _Offered:
    """A stand-in for a hook. It receives the dictionary in which the Node keeps its hooks."""

    hooks: Any = None


def _values(variables: Mapping[str, Any]) -> Iterable[Any]:
    """Yield the values of variables, and then the items of their lists, tuples and dictionaries."""
    values = list(variables.values())
    return chain(values, chain.from_iterable(map(_inside, values)))


def _inside(value: Any) -> Iterable[Any]:
    kind = type(value)
    return value if kind is list or kind is tuple else value.values() if kind is dict else ()


def node_with(hooks: Any, near: Iterable[Any]) -> tuple[Any, ev.HookKind] | None:
    """Return the Node that keeps its hooks in this dictionary, and their kind. Return None if that Node has no Python
    object.
    """
    known: dict[int, Registering] = {}
    # looking through all objects takes a tenth of a second; a Node in no variable was usually made on this line
    for thing in chain(near, chain.from_iterable(map(gc.get_objects, range(3)))):
        key = id(type(thing))
        if key not in known:
            known[key] = _registering(type(thing))
        for kind, register in known[key]:
            if _dictionary(thing, register) is hooks:
                return thing, kind
    return None


Registering = tuple[tuple[ev.HookKind, Callable[[Any, Any], Any]], ...]
"""Kinds of hooks, each with the method that registers one on a Node."""


def _registering(kind: type) -> Registering:
    """Return the methods that register hooks, for a class of Nodes; for any other class the result is empty."""
    for one in type.__getattribute__(kind, "__mro__"):
        own = type.__getattribute__(one, "__dict__")
        if "_register_hook_dict" in own:
            return ("pre hook", own["register_prehook"]), ("post hook", own["register_hook"])
    return ()


def _dictionary(node: Any, register: Callable[[Any, Any], Any]) -> Any:
    """Return the dictionary in which a Node keeps these hooks. Return None if it has none, or if it is a context whose
    Node is gone.
    """
    offered = _Offered()
    with own_errors_suppressed(_TurnedDownError, RuntimeError):
        register(node, offered)
    return offered.hooks
