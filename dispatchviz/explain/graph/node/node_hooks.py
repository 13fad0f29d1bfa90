"""The hooks of a Node at a step, in the order in which they run.

The order is: tensor pre hooks grouped by tensor, retains-grad hooks, pre hooks, the Node, post hooks. A leaf stores its
own hooks, and AccumulateGrad reads them there (``torch/csrc/autograd/function_hook.h``).
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.trace_index.trace_index import index

HOOK_KINDS: tuple[tuple[ev.HookKind, str, str], ...] = (
    ("tensor pre hook", "tensor_pre_hooks", "from Tensor.register_hook; run even if the Node is only captured"),
    (
        "retains-grad hook",
        "retains_grad_hooks",
        "from Tensor.retain_grad; run after the tensor pre hooks, in the same cases",
    ),
    ("pre hook", "pre_hooks", "from Node.register_prehook; run only if the Node runs"),
    ("post-accumulate hook", "tensor_post_acc_grad_hooks", "on AccumulateGrad only; run after .grad is written"),
    ("post hook", "post_hooks", "from Node.register_hook; run after the Node, with the gradients that it returned"),
)
"""The kinds of hooks in the order in which they run: kind, PyTorch's member, time."""

ORDER = tuple(kind for kind, _, _ in HOOK_KINDS)


class _Handles:
    """The registrations and removals of a trace by hook number, each read once."""

    def __init__(self) -> None:
        self.registered: dict[int, ev.HookRegistered] = {}
        self.removed: dict[int, int] = {}
        self._read = [0, 0]

    def follow(self, trace: Trace) -> None:
        """Read the events that have been added since."""
        for event in self._new(trace, 0, ev.HookRegistered):
            if isinstance(event, ev.HookRegistered) and event.hook is not None:
                self.registered.setdefault(event.hook, event)
        for event in self._new(trace, 1, ev.HookRemoved):
            if isinstance(event, ev.HookRemoved):
                self.removed.setdefault(event.hook, event.seq)

    def _new(self, trace: Trace, place: int, kind: type[ev.Event]) -> list[ev.AnyEvent]:
        steps = trace.steps_of(kind)
        begin, self._read[place] = self._read[place], len(steps)
        return [trace[step] for step in steps[begin:]]


_handles: WeakKeyDictionary[Trace, _Handles] = WeakKeyDictionary()


def _handles_of(trace: Trace) -> _Handles:
    found = _handles.setdefault(trace, _Handles())
    found.follow(trace)
    return found


def registration(trace: Trace, hook: int) -> ev.HookRegistered | None:
    """Return the registration of a hook, or None if the trace does not have it."""
    return _handles_of(trace).registered.get(hook)


def hooks_of(trace: Trace, node: int, leaf: int | None, at: int) -> list[ev.HookRegistered]:
    """Return the hooks of a Node as they were registered. ``leaf`` is the leaf that the Node accumulates into."""
    own = _registered(trace, history(trace).events.steps(node), at)
    own = [event for event in own if event.node == node]
    if leaf is not None:
        own += [event for event in _of_tensor(trace, leaf, at) if event.node is None]
    firsts: dict[int | None, int] = {}
    for event in sorted(own, key=lambda event: event.seq):
        firsts.setdefault(event.tensor, event.seq)
    there = [event for event in own if not _is_gone(trace, event, at)]
    return sorted(there, key=lambda event: (ORDER.index(event.kind), _group(event, firsts), event.seq))


def _group(event: ev.HookRegistered, firsts: dict[int | None, int]) -> int:
    """Return the place of a tensor's list of hooks, which is that of its first hook."""
    return firsts[event.tensor] if event.kind == "tensor pre hook" else 0


def _is_gone(trace: Trace, event: ev.HookRegistered, at: int) -> bool:
    """Return whether its handle removed the hook, or it has moved to another Node."""
    if event.hook is not None:
        return _handles_of(trace).removed.get(event.hook, at + 1) <= at
    if event.kind != "retains-grad hook" or event.tensor is None:
        return False
    return any(other.moved and other.seq > event.seq for other in _of_tensor(trace, event.tensor, at))


def _of_tensor(trace: Trace, tensor: int, at: int) -> list[ev.HookRegistered]:
    return _registered(trace, index(trace).steps_about(tensor, ev.HookRegistered), at)


def _registered(trace: Trace, steps: Sequence[int], at: int) -> list[ev.HookRegistered]:
    code, kinds = trace.columns.code(ev.HookRegistered), trace.columns.kinds
    events = (trace[step] for step in steps if step <= at and kinds[step] == code)
    return [event for event in events if isinstance(event, ev.HookRegistered)]
