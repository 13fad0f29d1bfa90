"""The Nodes that a trace has made so far: their names, the hooks before their formulas, the Node inside a
CopySlices.
"""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events.hook_events import BEFORE_NODE

COPY_SLICES = "torch::autograd::CopySlices"
LARGEST = (1 << 64) - 1
"""UINT64_MAX, the sequence number of each AccumulateGrad. It is not the number of a call."""


class MadeNodes:
    """The Nodes so far. It receives each event in order."""

    def __init__(self) -> None:
        self.made: dict[int, ev.NodeCreated] = {}
        self.functions: set[int] = set()
        """Nodes whose formula belongs to the program."""
        self.inside: dict[int, int] = {}
        """For each CopySlices the Node of the operator that wrote, which the same kernel made just before."""
        self._last: tuple[int | None, int] = None, -1
        """The newest Node, and the step that contains it."""
        self._leaves: dict[int, int] = {}
        """The leaf of each AccumulateGrad."""
        self._hooks: dict[int, list[int | None]] = {}
        """The pre hooks of each Node or leaf (a leaf is a number below -1)."""

    def see(self, event: ev.AnyEvent) -> None:
        """Note a new Node, or something that will run before it."""
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
        """Return the number of hooks that run before a Node's formula."""
        leaf = self._leaves.get(node)
        return len(self._hooks.get(node, ())) + (len(self._hooks.get(-2 - leaf, ())) if leaf is not None else 0)


def _owner(event: ev.HookRegistered) -> int:
    if event.node is not None:
        return event.node
    return -2 - event.tensor if event.tensor is not None else -1
