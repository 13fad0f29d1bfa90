"""What is known of Nodes when the engine runs them: their names, the hooks before their formulas, the Node that a
CopySlices has inside it."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events.hook_events import BEFORE_NODE

COPY_SLICES = "torch::autograd::CopySlices"
LARGEST = (1 << 64) - 1
"""UINT64_MAX, which AccumulateGrad has as its sequence number: it is no number of a call."""


class MadeNodes:
    """It is shown each event, in order."""

    def __init__(self) -> None:
        self.made: dict[int, ev.NodeCreated] = {}
        self.functions: set[int] = set()
        """Those whose formula is the program's own."""
        self.inside: dict[int, int] = {}
        """Of each CopySlices the Node of the operator that wrote: made by the same kernel, just before."""
        self._last: tuple[int | None, int] = None, -1
        """The Node made last, and within what."""
        self._leaves: dict[int, int] = {}
        """Of a leaf, its AccumulateGrad."""
        self._hooks: dict[int, list[int | None]] = {}
        """Of each Node or leaf (as the number below -1), the hooks before it."""

    def see(self, event: ev.AnyEvent) -> None:
        """A Node, or what will run before it, may be new."""
        match event:
            case ev.NodeCreated():
                self._create(event)
            case ev.FunctionEntered():
                self.functions.add(event.node)
            case ev.AccumulatorMade():
                self._leaves[event.node] = event.tensor
            case ev.HookRegistered() if event.kind in BEFORE_NODE:
                self._hooks.setdefault(_owner(event), []).append(event.hook)
            case ev.HookRemoved():
                for hooks in self._hooks.values():
                    while event.hook in hooks:
                        hooks.remove(event.hook)

    def _create(self, event: ev.NodeCreated) -> None:
        self.made[event.node] = event
        within, node = self._last
        if event.name == COPY_SLICES and within == event.parent:
            self.inside[event.node] = node
        if event.sequence_nr != LARGEST:
            self._last = event.parent, event.node

    def hooks_before(self, node: int) -> int:
        """How many hooks run before its formula."""
        leaf = self._leaves.get(node)
        return len(self._hooks.get(node, ())) + (len(self._hooks.get(-2 - leaf, ())) if leaf is not None else 0)


def _owner(event: ev.HookRegistered) -> int:
    if event.node is not None:
        return event.node
    return -2 - event.tensor if event.tensor is not None else -1
