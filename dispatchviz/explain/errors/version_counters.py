"""Who keeps which version of a tensor, and which step made it useless: the facts of "modified by an inplace operation".

A saved tensor is good as long as the counter that it is under stands at the version at which it was saved. Every answer
here is known at the step that writes in place, long before a backward runs into it.

No version is compared of what a hook has packed, nor of what a Node has let go: neither is listed here. Nor can writes
be noticed that move another counter, ``x.data.add_(1)``. Traces of versions that did not tell counters say nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace

Change = ev.VersionBumped | ev.RequiresGradSet


class _Versions:
    """What was saved, by the version counter that it is under."""

    def __init__(self, trace: Trace) -> None:
        self._kept: dict[int, list[ev.VariableSaved]] = defaultdict(list)
        """Counter to what Nodes saved under it."""
        self._histories: set[int] = set()
        """Tensors that have a grad_fn."""
        self._inputs: dict[int, list[ev.VariableSaved]] = defaultdict(list)
        """Tensor with a history to what Nodes saved of it as it is: they ask it for that history."""
        self._packed: dict[int, list[ev.VariableSaved]] = defaultdict(list)
        """As ``_kept``, of what a hook has packed."""
        self.gone: dict[int, int] = {}
        """Step of what was saved to the step at which it was let go, or packed."""
        self._of_node: dict[int, list[ev.VariableSaved]] = defaultdict(list)
        self.spoiled: dict[int, list[ev.VariableSaved]] = {}
        """Step that wrote in place to what it made useless."""
        self.unnoticed: dict[int, list[ev.VariableSaved]] = {}
        """Step that wrote in place to what was packed at the version before."""
        self.by_node: dict[int, list[tuple[ev.VariableSaved, Change]]] = defaultdict(list)
        """Node to what it keeps in vain, and the first change."""
        for event in trace:
            self._note(event)

    def _note(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.VariableSaved(tensor=int()) if event.counter >= 0:
                self._saved(event)
            case ev.VersionBumped() if event.counter >= 0:
                kept = self._kept.pop(event.counter, [])  # from now on useless, or noted here
                self._change(event, [saved for saved in kept if saved.version == event.before])
                self._write_unnoticed(event)
            case ev.RequiresGradSet(detached=True):
                self._histories.discard(event.tensor)
                self._change(event, self._inputs.pop(event.tensor, []))
            case ev.VariablesReleased():
                self._let_go(self._of_node.pop(event.node, ()), event)
            case ev.SavedTensorHookRan(kind="pack hook", node=int(node)):
                packed = [saved for saved in self._of_node[node] if saved.name == event.name]
                self._let_go(packed, event)
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

    def _let_go(self, kept: Iterable[ev.VariableSaved], event: ev.AnyEvent) -> None:
        for saved in kept:
            self.gone.setdefault(saved.seq, event.seq)

    def _change(self, event: Change, kept: Iterable[ev.VariableSaved]) -> None:
        spoiled = [saved for saved in kept if saved.seq not in self.gone]
        if spoiled:
            self.spoiled[event.seq] = spoiled
        for saved in spoiled:
            self.by_node[saved.node].append((saved, event))

    def _write_unnoticed(self, event: ev.VersionBumped) -> None:
        packed = self._packed.get(event.counter, ())
        current = [saved for saved in packed if saved.version == event.before and self._has(saved)]
        if current:
            self.unnoticed[event.seq] = current

    def _has(self, saved: ev.VariableSaved) -> bool:
        """Whether the Node has not let go of what it keeps."""
        return saved in self._of_node.get(saved.node, ())


_known: WeakKeyDictionary[Trace, _Versions] = WeakKeyDictionary()


def _versions(trace: Trace) -> _Versions:
    found = _known.get(trace)
    if found is None:
        found = _known[trace] = _Versions(trace)
    return found


def spoiled_by(trace: Trace, event: Change) -> Sequence[ev.VariableSaved]:
    """What Nodes keep that this change makes useless: to use it is an error."""
    return _versions(trace).spoiled.get(event.seq, ())


def spoiled_of(trace: Trace, node: int, at: int) -> Sequence[tuple[ev.VariableSaved, Change]]:
    """What a Node keeps in vain as of a step, each with the change that made it so."""
    known = _versions(trace)
    changed = [(saved, change) for saved, change in known.by_node.get(node, ()) if change.seq <= at]
    return [(saved, change) for saved, change in changed if known.gone.get(saved.seq, at + 1) > at]


def unnoticed_by(trace: Trace, event: Change) -> Sequence[ev.VariableSaved]:
    """What hooks have packed at the version before this change: nobody compares that."""
    return _versions(trace).unnoticed.get(event.seq, ())


def by_checkpoint(trace: Trace, saved: ev.VariableSaved) -> bool:
    """Whether the hook that packed a tensor is one of ``torch.utils.checkpoint``."""
    before = trace[saved.seq - 1] if saved.packed and saved.seq else None
    return isinstance(before, ev.SavedTensorHookRan) and before.packed == "_Holder"
