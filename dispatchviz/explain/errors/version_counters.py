"""Which Node saved which version of a tensor, and which step changed it: "modified by an inplace operation".

A saved tensor is valid as long as its version counter has the version at which it was saved. Every answer here is known
at the step that writes in place, long before a backward pass raises.

No version is compared of what a hook has packed, nor of what a Node has released: neither is listed here. Nor can
writes be detected that bump another counter, ``x.data.add_(1)``. Old traces without counters have no answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace

Change = ev.VersionBumped | ev.RequiresGradSet


class _Versions:
    """What was saved, by its version counter."""

    def __init__(self, trace: Trace) -> None:
        self._kept: dict[int, list[ev.VariableSaved]] = defaultdict(list)
        """Counter to what Nodes saved under it."""
        self._histories: set[int] = set()
        """Tensors that have a grad_fn."""
        self._inputs: dict[int, list[ev.VariableSaved]] = defaultdict(list)
        """Tensor with a history to what Nodes saved of it as an input: they read its ``grad_fn`` on unpacking."""
        self._packed: dict[int, list[ev.VariableSaved]] = defaultdict(list)
        """As ``_kept``, of what a hook has packed."""
        self.gone: dict[int, int] = {}
        """Step of what was saved to the step at which it was released, or packed."""
        self._of_node: dict[int, list[ev.VariableSaved]] = defaultdict(list)
        self.invalidated: dict[int, list[ev.VariableSaved]] = {}
        """Step that wrote in place to what it invalidated."""
        self.undetected: dict[int, list[ev.VariableSaved]] = {}
        """Step that wrote in place to what was packed at the version before."""
        self.by_node: dict[int, list[tuple[ev.VariableSaved, Change]]] = defaultdict(list)
        """Node to its invalidated saved variables, each with the first change."""
        for event in trace:
            self._note(event)

    def _note(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.VariableSaved(tensor=int()) if event.counter >= 0:
                self._saved(event)
            case ev.VersionBumped() if event.counter >= 0:
                kept = self._kept.pop(event.counter, [])  # from now on invalid, or noted here
                self._change(event, [saved for saved in kept if saved.version == event.before])
                self._write_undetected(event)
            case ev.RequiresGradSet(detached=True):
                self._histories.discard(event.tensor)
                self._change(event, self._inputs.pop(event.tensor, []))
            case ev.VariablesReleased():
                self._release(self._of_node.pop(event.node, ()), event)
            case ev.SavedTensorHookRan(kind="pack hook", node=int(node)):
                packed = [saved for saved in self._of_node[node] if saved.name == event.name]
                self._release(packed, event)
                for saved in packed:
                    self._packed[saved.counter].append(saved)
            case ev.HistorySet() | ev.HistoryRebased():
                self._histories.add(event.tensor)
            case _:
                pass

    def _saved(self, event: ev.VariableSaved) -> None:
        self._of_node[event.node].append(event)
        if event.packed:
            self._packed[event.counter].append(event)
            return
        self._kept[event.counter].append(event)
        if not event.is_output and event.tensor in self._histories:
            self._inputs[event.tensor].append(event)

    def _release(self, kept: Iterable[ev.VariableSaved], event: ev.AnyEvent) -> None:
        for saved in kept:
            self.gone.setdefault(saved.seq, event.seq)

    def _change(self, event: Change, kept: Iterable[ev.VariableSaved]) -> None:
        invalidated = [saved for saved in kept if saved.seq not in self.gone]
        if invalidated:
            self.invalidated[event.seq] = invalidated
        for saved in invalidated:
            self.by_node[saved.node].append((saved, event))

    def _write_undetected(self, event: ev.VersionBumped) -> None:
        packed = self._packed.get(event.counter, ())
        current = [saved for saved in packed if saved.version == event.before and self._has(saved)]
        if current:
            self.undetected[event.seq] = current

    def _has(self, saved: ev.VariableSaved) -> bool:
        """Whether the Node has not released it."""
        return saved in self._of_node.get(saved.node, ())


_known: WeakKeyDictionary[Trace, _Versions] = WeakKeyDictionary()


def _versions(trace: Trace) -> _Versions:
    found = _known.get(trace)
    if found is None:
        found = _known[trace] = _Versions(trace)
    return found


def invalidated_by(trace: Trace, event: Change) -> Sequence[ev.VariableSaved]:
    """The saved variables that this change invalidates: unpacking them is an error."""
    return _versions(trace).invalidated.get(event.seq, ())


def invalidated_of(trace: Trace, node: int, at: int) -> Sequence[tuple[ev.VariableSaved, Change]]:
    """A Node's invalidated saved variables as of a step, each with the change."""
    known = _versions(trace)
    changed = [(saved, change) for saved, change in known.by_node.get(node, ()) if change.seq <= at]
    return [(saved, change) for saved, change in changed if known.gone.get(saved.seq, at + 1) > at]


def undetected_by(trace: Trace, event: Change) -> Sequence[ev.VariableSaved]:
    """What hooks have packed at the version before this change: that version is not compared."""
    return _versions(trace).undetected.get(event.seq, ())


def by_checkpoint(trace: Trace, saved: ev.VariableSaved) -> bool:
    """Whether the hook that packed a tensor is one of ``torch.utils.checkpoint``."""
    before = trace[saved.seq - 1] if saved.packed and saved.seq else None
    return isinstance(before, ev.SavedTensorHookRan) and before.packed == "_Holder"
