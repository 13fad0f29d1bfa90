"""The events of a trace that only one recorder has: the model, or the recorder of an installed PyTorch.

``seen_by_both`` leaves them out. Its docstring lists them.
"""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.recorded_engine import UNSEEN_RUNNING

PYTHON_META = "(_meta_registrations.py)"
"""The endings of the names of PyTorch's meta functions in Python."""

WITHOUT_TENSORS = "aten::_nnpack_available", "profiler::"
"""The beginnings of the names of operators whose calls are recorded although no tensor gives them a key."""

UNWATCHED = frozenset({"aten::div_.Tensor_mode"})
"""Operators whose calls a recorder does not record (``live/watched_cells.LEFT_ALONE``). The calls that they make are
recorded.
"""

MISSING = "aten::numel"
"""The operator that PyTorch's forward formulas call and the model does not have (``docs/differences.md``)."""

OF_A_CALL = ev.KeySetComputed, ev.FallthroughSkipped, ev.KernelSelected, ev.KernelEntered, ev.KernelReturned

GRAPH_ROOT = "torch::autograd::GraphRoot"
"""The Node that the engine creates for several roots, with edges to them."""

IN_CPP = "warn_autograd_not_implemented_hook"
"""The name used here for PyTorch's own hook, which is C++
(``torch/csrc/autograd/autograd_not_implemented_fallback.cpp``).
"""


class SeenByOne:
    """The pass over the events of a trace that finds those which only one recorder has."""

    def __init__(self, trace: Trace) -> None:
        self.hooks: dict[int, int] = {}
        """The new numbers of the hooks that both record."""
        self._left_out: set[int] = set()
        """The events that format a tensor or belong to a meta function, with their contents."""
        self._unwatched: set[int] = set()
        """The calls of ``UNWATCHED`` and their kernels."""
        self._meta_functions: set[int] = set()
        self._without_kernel = _calls_without_kernel(trace)

    def __contains__(self, seq: int) -> bool:
        """Return whether an event is one of them."""
        return seq in self._left_out or seq in self._unwatched

    def is_unwatched(self, seq: int) -> bool:
        """Return whether an event is a call of ``UNWATCHED`` or a step of one, but not a call that its kernel makes."""
        return seq in self._unwatched

    def add(self, event: ev.AnyEvent) -> None:
        """Add the next event."""
        if self._is_left_out(event):
            self._left_out.add(event.seq)
        if self._is_unwatched(event):
            self._unwatched.add(event.seq)

    def _is_left_out(self, event: ev.AnyEvent) -> bool:
        if event.parent in self._left_out:
            return True
        if isinstance(event, ev.KernelEntered) and event.kernel.endswith(PYTHON_META):
            self._meta_functions.add(event.seq)
        if isinstance(event, ev.Dispatched) and event.operator == MISSING:
            return True
        if isinstance(event, ev.Dispatched) and event.key == "Undefined":
            return not event.operator.startswith(WITHOUT_TENSORS)
        if event.seq in self._without_kernel:
            return True
        if event.parent in self._meta_functions:
            return not isinstance(event, ev.KernelReturned)
        if isinstance(event, ev.NodeStarted) and event.name == GRAPH_ROOT:
            return True
        if isinstance(event, (ev.HookRegistered, ev.HookRemoved, ev.HookRan)) and not self._is_seen(event):
            return True
        return isinstance(event, ev.TensorFormatted)

    def _is_unwatched(self, event: ev.AnyEvent) -> bool:
        if isinstance(event, ev.Dispatched):
            return event.operator in UNWATCHED
        return event.parent in self._unwatched and isinstance(event, OF_A_CALL)

    def _is_seen(self, event: ev.HookRegistered | ev.HookRemoved | ev.HookRan) -> bool:
        """Return whether a hook is recorded. Retains-grad hooks run unrecorded."""
        if isinstance(event, (ev.HookRegistered, ev.HookRan)) and event.function == IN_CPP:
            return False
        if isinstance(event, ev.HookRan):
            return event.kind not in UNSEEN_RUNNING
        if event.hook is None:
            return True
        if isinstance(event, ev.HookRegistered):
            self.hooks[event.hook] = len(self.hooks)
        return event.hook in self.hooks


def _calls_without_kernel(trace: Trace) -> frozenset[int | None]:
    """Return the calls that find no kernel. An installed PyTorch is recorded by kernels, so it has no such steps."""
    selected = (trace[step] for step in trace.steps_of(ev.KernelSelected))
    return frozenset([e.parent for e in selected if isinstance(e, ev.KernelSelected) and e.reason == "missing"])
