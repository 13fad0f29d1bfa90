"""Functions of PyTorch that begin what few programs have: transforms of ``torch.func``, dispatch modes, keys that are
included by hand, ``torch.jit.trace``. The keys that this needs are watched from the first one on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dispatchviz.live.watched_cells import FUNCTIONALIZE, FUNCTORCH, PYTHON, TRACER

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder

BEGIN = {
    "_vmap_increment_nesting": FUNCTORCH,
    "_grad_increment_nesting": FUNCTORCH,
    "_jvp_increment_nesting": FUNCTORCH,
    "_func_increment_nesting": FUNCTORCH | FUNCTIONALIZE,
    "_push_on_torch_dispatch_stack": PYTHON,
    "_set_dispatch_mode": PYTHON,
    "_create_function_from_trace": TRACER,
    "_create_function_from_trace_with_dict": TRACER,
    "_create_graph_by_tracing": TRACER,
}
"""Functions, and the keys that are then needed."""
INCLUDING = "_dispatch_tls_set_dispatch_key_included"
GUARD = "_IncludeDispatchKeyGuard"
_HOLDERS = ("torch._functorch", "torch._C", "torch.utils._python_dispatch")
"""Modules that have such functions begin with one of these names."""


Replaced = list[tuple[Any, str, Any, Any]]
"""Module, function, the original and ours."""


@contextmanager
def begun_keys_watched(watch: LiveRecorder) -> Iterator[Replaced]:
    """Inside the block; yields what is replaced there."""
    replaced: Replaced = []
    for name, module in list(sys.modules.items()):
        if name.startswith(_HOLDERS):
            for function, keys in BEGIN.items():
                if callable(original := vars(module).get(function)):
                    replaced.append((module, function, original, _that_needs(watch, keys, original)))
    c = watch.torch._C
    replaced += [(c, INCLUDING, vars(c)[INCLUDING], _including(watch)), (c, GUARD, vars(c)[GUARD], _guard(watch))]
    _set(replaced, 3)
    try:
        yield replaced
    finally:
        _set(replaced, 2)


@contextmanager
def originals_again(replaced: Replaced) -> Iterator[None]:
    """Inside the block nothing is replaced."""
    _set(replaced, 2)
    try:
        yield
    finally:
        _set(replaced, 3)


def _set(replaced: Replaced, which: int) -> None:
    for one in replaced:
        setattr(one[0], one[1], one[which])


def _that_needs(watch: LiveRecorder, keys: int, original: Callable[..., Any]) -> Callable[..., Any]:
    def begin(*args: Any, **kwargs: Any) -> Any:
        watch.cells.meet(keys)
        return original(*args, **kwargs)

    return begin


def _including(watch: LiveRecorder) -> Callable[..., Any]:
    c = watch.torch._C
    original = vars(c)[INCLUDING]

    def include(key: Any, *args: Any) -> Any:
        if isinstance(key, c.DispatchKey):
            watch.cells.meet(watch.keys[c.DispatchKeySet(key).raw_repr()])
        return original(key, *args)

    return include


def _guard(watch: LiveRecorder) -> type:
    c = watch.torch._C
    original = vars(c)[GUARD]

    def begin(self: Any, keys: Any) -> None:
        if isinstance(keys, c.DispatchKey):
            watch.cells.meet(watch.keys[c.DispatchKeySet(keys).raw_repr()])
        elif isinstance(keys, c.DispatchKeySet):
            watch.cells.meet(watch.keys[keys.raw_repr()])
        original.__init__(self, keys)

    return type(GUARD, (original,), {"__init__": begin, "__module__": original.__module__})
