"""The backend fallbacks of the Python keys (``aten/src/ATen/core/PythonFallbackKernel.cpp``).

``PythonTLSSnapshot`` is the first key of a call that involves a mode or a subclass: it saves the thread-local include
and exclude sets and redispatches. ``Python`` comes below autograd: it passes the call to ``__torch_dispatch__``.
``PythonDispatcher`` and ``PreDispatch`` are in a set only while they are included explicitly.

Not here: calling the handlers (``torch_dispatch.py``), the Python dispatcher's own rules (``python_dispatcher.py``).
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.dispatcher import boxed_keys, redispatch_boxed
from dispatchviz.core.keys.key_set import after_Python_keyset, full_after
from dispatchviz.core.keys.keys import KEY_BITS, DispatchKey
from dispatchviz.core.python_side import torch_dispatch
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.thread.guards import ExcludeDispatchKeyGuard, ForceDispatchKeyGuard
from dispatchviz.core.thread.thread_state import thread

_PYTHON = KEY_BITS[DispatchKey.Python]
_BELOW_SNAPSHOT = full_after(DispatchKey.PythonTLSSnapshot)
_BELOW_PRE_DISPATCH = full_after(DispatchKey.PreDispatch)


def python_fallback(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Call ``__torch_dispatch__`` of the newest mode, else of the arguments; redispatch if there is neither
    (``pythonFallback``).

    All keys above Python are excluded meanwhile: autograd is done with this call.
    """
    with ExcludeDispatchKeyGuard(after_Python_keyset):
        at = len(stack) - len(op.schema.arguments)
        if thread.state.modes or boxed_keys(op, stack[at:]) & _PYTHON:
            torch_dispatch.dispatch(op, stack)
        else:
            redispatch_boxed(op, ks & ~_PYTHON, stack)


def python_tls_snapshot_fallback(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Save the thread-local include and exclude sets, unless an outer call has, and redispatch
    (``pythonTLSSnapshotFallback``).
    """
    state = thread.state
    outermost = state.tls_on_entry is None
    if outermost:
        state.tls_on_entry = (state.included, state.excluded)
    try:
        redispatch_boxed(op, ks & _BELOW_SNAPSHOT, stack)
    finally:
        if outermost:
            state.tls_on_entry = None


def pre_dispatch_fallback(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Redispatch (``preDispatchFallback``). It is a kernel so that the Python dispatcher can replace it."""
    redispatch_boxed(op, ks & _BELOW_PRE_DISPATCH, stack)


class RestorePythonTLSSnapshot:
    """A context manager for handlers that restores the include and exclude sets in force when the call began.

    Raise RuntimeError outside of ``__torch_dispatch__``.
    """

    def __enter__(self) -> None:
        saved = thread.state.tls_on_entry
        if saved is None:
            raise RuntimeError("Accessing torch dispatch state outside of '__torch_dispatch__' is not allowed.")
        self._saved, thread.state.tls_on_entry = saved, None
        self._guard = ForceDispatchKeyGuard(*saved)
        self._guard.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._guard.__exit__(*error)
        thread.state.tls_on_entry = self._saved
