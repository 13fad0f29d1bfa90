"""Functions of PyTorch that start to use rare dispatch keys.

They are transforms of ``torch.func``, dispatch modes and keys that a program includes by hand. The recorder watches the
kernels of the keys only after the first such call.
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
    "_enable_functionalization": FUNCTIONALIZE,
    "_push_on_torch_dispatch_stack": PYTHON,
    "_set_dispatch_mode": PYTHON,
}
"""Functions, each with the keys that a call of it needs."""
TRACING = ("_create_function_from_trace", "_create_function_from_trace_with_dict", "_create_graph_by_tracing")
"""Functions of ``torch.jit.trace``. The kernels at Tracer note the frames and numbers of their callers, so none of our
kernels is in their cells meanwhile.
"""
INCLUDING = "_dispatch_tls_set_dispatch_key_included"
GUARD = "_IncludeDispatchKeyGuard"
_HOLDERS = ("torch._functorch", "torch._C", "torch.utils._python_dispatch")
"""The prefixes of the names of modules that have these functions."""


Replaced = list[tuple[Any, str, Any, Any]]
"""A module, the name of its function, the original function and ours."""


@contextmanager
def begun_keys_watched(watch: LiveRecorder) -> Iterator[Replaced]:
    """Watch the keys that these functions need, inside the block. Yield the list of functions that are replaced."""
    replaced: Replaced = []
    for name, module in list(sys.modules.items()):
        if name == "torch" or name.startswith(_HOLDERS):
            for function, keys in BEGIN.items():
                if callable(original := vars(module).get(function)):
                    replaced.append((module, function, original, _meeting_keys(watch, keys, original)))
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
    """Restore the original functions inside the block."""
    _set(replaced, 2)
    try:
        yield
    finally:
        _set(replaced, 3)


def _set(replaced: Replaced, which: int) -> None:
    for one in replaced:
        setattr(one[0], one[1], one[which])


def _meeting_keys(watch: LiveRecorder, keys: int, original: Callable[..., Any]) -> Callable[..., Any]:
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
    """Watch the keys of a key set, of a key or of a key's name. PyTorch itself raises the error for anything else."""
    c = watch.torch._C
    with own_errors_suppressed(RuntimeError, TypeError):
        keys = c._dispatch_key_parse(keys) if isinstance(keys, str) else keys
        keys = keys if isinstance(keys, c.DispatchKeySet) else c.DispatchKeySet(keys)
        watch.cells.meet(watch.keys[keys.raw_repr()])
