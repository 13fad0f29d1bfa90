"""Thread-local state: the include and exclude sets, grad mode, inference mode, the autograd counter.

This module mirrors ``c10/core/impl/LocalDispatchKeySet.h``, ``c10/core/AutogradState.h`` and the thread-locals of
``torch/csrc/autograd/node.h``. The guards that change the state are in ``guards.py``.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

from dispatchviz.core.keys.key_set import default_excluded_set, default_included_set
from dispatchviz.core.seam.process_modes import Mode, process_modes

if TYPE_CHECKING:
    from dispatchviz.core.autograd.engine.graph_task import GraphTask
    from dispatchviz.core.autograd.graph.node import Node
    from dispatchviz.core.layers.functorch.dynamic_layer import DynamicLayer
    from dispatchviz.core.tensor.dtype import DType


class State:
    """The thread-local state of one thread."""

    __slots__ = (
        "autocast_cache_enabled",
        "autocast_dtypes",
        "autocast_nesting",
        "current_node",
        "dynamic_layers",
        "excluded",
        "function_modes",
        "functionalization_reapply_views",
        "fw_grad_mode",
        "grad_layout_enforced",
        "grad_mode",
        "graph_task",
        "included",
        "inference_mode",
        "modes",
        "python_dispatcher",
        "saved_tensors_hooks",
        "saved_tensors_hooks_disabled",
        "sequence_nr",
        "thread_id",
        "tls_on_entry",
        "torch_function",
    )

    included: int
    """The raw set that is joined with the arguments' keys."""
    excluded: int
    """The raw set that is removed afterwards: exclusion wins."""
    grad_mode: bool
    inference_mode: bool
    fw_grad_mode: bool
    """True if tangents are seen (``forward_ad.py``)."""
    grad_layout_enforced: bool
    """``AutogradState::get_grad_layout_enforcement_enabled``: if true, a first gradient is stolen only if it has the
    strides that ``.grad`` should have (``accumulate_grad.py``).
    """
    sequence_nr: int
    """The sequence number of the next Node of this thread."""
    thread_id: int
    """The number of the thread, as in the profiler: 1 for the first thread that gets one."""
    current_node: Node | None
    """The Node being evaluated."""
    graph_task: GraphTask | None
    """The backward on which the thread works (``graph_task.py``)."""
    saved_tensors_hooks: tuple[Any, ...]
    """Pairs of functions that pack and unpack the tensors that Nodes save, the innermost last
    (``saved_variable_hooks.py``).
    """
    saved_tensors_hooks_disabled: str | None
    """The error message for pushing a pair, if that is disabled."""
    autocast_dtypes: dict[str, DType]
    """The dtypes to which autocast casts, for the types of devices for which one was set (``autocast.py``)."""
    autocast_cache_enabled: bool
    """True if casts of weights are kept."""
    autocast_nesting: int
    """The number of open ``with torch.autocast`` blocks."""
    dynamic_layers: list[DynamicLayer]
    """functorch's stack of transforms, the innermost last."""
    functionalization_reapply_views: bool
    """True if functionalization replays views as views, not as copies."""

    modes: tuple[Any, ...]
    """Dispatch modes, the newest last."""
    tls_on_entry: tuple[int, int] | None
    """The include and exclude sets when the call that a handler sees began."""
    python_dispatcher: bool
    """True if the Python dispatcher is on."""
    function_modes: tuple[Any, ...]
    """Modes with ``__torch_function__``, the newest last (``torch_function.py``)."""
    torch_function: int
    """The handlers that may see calls before they are made: all, modes only, or none."""

    def __init__(self, thread_id: int) -> None:
        self.included = default_included_set
        self.excluded = default_excluded_set
        self.grad_mode = True
        self.inference_mode = False
        self.fw_grad_mode = True
        self.grad_layout_enforced = True
        self.sequence_nr = 0
        self.thread_id = thread_id
        self.current_node = None
        self.graph_task = None
        self.saved_tensors_hooks = ()
        self.saved_tensors_hooks_disabled = None
        self.modes = ()
        self.tls_on_entry = None
        self.python_dispatcher = False
        self.function_modes = ()
        self.torch_function = 0
        self.autocast_dtypes = {}
        self.autocast_cache_enabled = True
        self.autocast_nesting = 0
        self.dynamic_layers = []
        self.functionalization_reapply_views = False

    def copy_from(self, other: State) -> None:
        """Copy everything from another thread's state, except for the numbers, which remain this thread's
        (``ThreadLocalStateGuard``).
        """
        for name in self.__slots__:
            if name not in ("sequence_nr", "thread_id"):
                value = getattr(other, name)
                setattr(self, name, value.copy() if isinstance(value, (list, dict)) else value)


class ThreadState(threading.local):
    """The state of the thread that reads it, as ``state``. Every thread starts from the defaults."""

    state: State

    def __init__(self) -> None:
        self.state = State(new_thread_id())
        self._presence = _Presence()
        with _threads_lock:
            _present.add(self._presence)
        if self.state.thread_id > 1:
            process_modes.set(Mode.THREADS, True)


class _Presence:
    """An object that lives as long as its thread."""

    __slots__ = ("__weakref__",)


_present: weakref.WeakSet[_Presence] = weakref.WeakSet()
"""The presences of the threads that have used the machine and are alive."""

_threads = 0
_threads_lock = threading.Lock()


def several_alive() -> bool:
    """Return whether several threads that have used the machine are alive. They may use the same tensor or Node."""
    with _threads_lock:
        return len(_present) > 1


def several() -> bool:
    """Return whether several threads have a number. Device threads count, although they are not threads of their own
    here.
    """
    return _threads > 1


def new_thread_id() -> int:
    """Return the next number of the profiler's numbering."""
    global _threads
    with _threads_lock:
        _threads += 1
        return _threads


thread = ThreadState()
"""The state of the thread that reads it."""

SavedState = tuple[Any, ...]
"""A State and its content."""


def save_state() -> SavedState:
    """Return the state of the thread, for ``restore_state``."""
    state = thread.state
    return (
        state,
        state.included,
        state.excluded,
        state.grad_mode,
        state.inference_mode,
        state.fw_grad_mode,
        state.graph_task,
        state.current_node,
        state.modes,
        state.tls_on_entry,
        state.function_modes,
        state.torch_function,
        state.dynamic_layers[:],
        state.saved_tensors_hooks_disabled,
        state.python_dispatcher,
        state.autocast_dtypes.copy(),
        state.autocast_cache_enabled,
        state.autocast_nesting,
    )


def restore_state(saved: SavedState) -> None:
    """Restore the state of the thread after an exception that was raised anywhere in the machine.

    See ``restoring_state.py``.
    """
    state = saved[0]
    thread.state = state
    _, state.included, state.excluded, state.grad_mode, state.inference_mode, state.fw_grad_mode = saved[:6]
    state.graph_task, state.current_node, state.modes, state.tls_on_entry = saved[6:10]
    state.function_modes, state.torch_function = saved[10:12]
    state.dynamic_layers[:] = saved[12]
    state.saved_tensors_hooks_disabled, state.python_dispatcher = saved[13:15]
    state.autocast_dtypes, state.autocast_cache_enabled, state.autocast_nesting = saved[15:]
