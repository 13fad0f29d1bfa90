"""Functions of PyTorch that begin what few programs have: transforms of ``torch.func``, dispatch modes, keys that are
included by hand. The keys that this needs are watched from the first one on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dispatchviz.core.seam.outside_errors import own_errors_suppressed
from dispatchviz.live.watched_cells import FUNCTIONALIZE, FUNCTORCH, PYTHON

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder

BEGIN = {
    "_vmap_increment_nesting": FUNCTORCH,
    "_grad_increment_nesting": FUNCTORCH,
    "_jvp_increment_nesting": FUNCTORCH,
    "_func_increment_nesting": FUNCTORCH | FUNCTIONALIZE,
    "_push_on_torch_dispatch_stack": PYTHON,
    "_set_dispatch_mode": PYTHON,
}
"""Functions, and the keys that are then needed."""
TRACING = ("_create_function_from_trace", "_create_function_from_trace_with_dict", "_create_graph_by_tracing")
"""Functions of ``torch.jit.trace``: the kernels at Tracer write down frames and numbers of their callers, so none of
ours is there meanwhile."""
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
    replaced += [(c, name, vars(c)[name], _tracing(watch, vars(c)[name])) for name in TRACING if name in vars(c)]
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


def _tracing(watch: LiveRecorder, original: Callable[..., Any]) -> Callable[..., Any]:
    def trace(*args: Any, **kwargs: Any) -> Any:
        with watch.cells.without("Tracer"):
            return original(*args, **kwargs)

    return trace


def _including(watch: LiveRecorder) -> Callable[..., Any]:
    original = vars(watch.torch._C)[INCLUDING]

    def include(key: Any, *args: Any) -> Any:
        _meet(watch, key)
        return original(key, *args)

    return include


def _guard(watch: LiveRecorder) -> type:
    original = vars(watch.torch._C)[GUARD]

    def begin(self: Any, keys: Any) -> None:
        _meet(watch, keys)
        original.__init__(self, keys)

    return type(GUARD, (original,), {"__init__": begin, "__module__": original.__module__})


def _meet(watch: LiveRecorder, keys: Any) -> None:
    """A key set, a key or the name of one; PyTorch says what is wrong with anything else."""
    c = watch.torch._C
    with own_errors_suppressed(RuntimeError, TypeError):
        keys = c._dispatch_key_parse(keys) if isinstance(keys, str) else keys
        keys = keys if isinstance(keys, c.DispatchKeySet) else c.DispatchKeySet(keys)
        watch.cells.meet(watch.keys[keys.raw_repr()])
