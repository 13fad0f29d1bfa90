"""The Nodes of a trace, each emitted once, at the step where it first becomes visible: with its edges and saved
tensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from dispatchviz.core.record import events as ev

Saved = ev.AttributeSaved | ev.VariableSaved

MAIN_THREAD = 1
"""The thread for every Node, because an installed PyTorch does not record the thread that made a Node."""


class MetNodes:
    """The events of each Node."""

    def __init__(self, events: Iterable[ev.AnyEvent]) -> None:
        self._created: dict[int, ev.NodeCreated] = {}
        self._edges: dict[int, ev.EdgesCollected] = {}
        self._leaves: dict[int, ev.AccumulatorMade] = {}
        self._saved: dict[int, dict[str, list[Saved]]] = {}
        """The saved variables of each Node by name. A list has its tensors one after another."""
        self._of_numbers: set[int] = set()
        """The tensors that wrap a Python number."""
        self._emitted: set[int] = set()
        for event in events:
            self._read(event)

    def _read(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.NodeCreated():
                self._created[event.node] = event
            case ev.EdgesCollected():
                self._edges[event.node] = event
            case ev.AccumulatorMade():
                self._leaves[event.node] = event
            case ev.TensorCreated(wrapped_number=True):
                self._of_numbers.add(event.tensor)
            case ev.VariableSaved() if event.tensor in self._of_numbers:
                pass  # while hooks pack, a recorder of PyTorch cannot read variables that they do not pack
            case ev.VariableSaved():
                self._save(replace(event, counter=-1))
            case ev.AttributeSaved():
                self._save(event)
            case ev.VariableNotSaved():
                empty = ev.VariableSaved(event.seq, event.parent, event.node, event.name, None, -1, False)
                self._save(empty)

    def _save(self, event: Saved) -> None:
        name = event.name.partition("[")[0]
        self._saved.setdefault(event.node, {}).setdefault(name, []).append(replace(event, name=name))

    def met(self, node: int, with_members: bool = False) -> Iterator[ev.AnyEvent]:
        """Yield the events of a Node, after those of the Nodes that its edges lead to, unless they were emitted before.

        With ``with_members`` also its saved variables. This is used for the Node of a result when the autograd kernel
        has returned.
        """
        waiting = [node]
        while waiting:
            one = waiting[-1]
            edges = self._edges.get(one)
            targets = [] if edges is None else [edge[0] for edge in edges.edges if edge is not None]
            unmet = [to for to in targets if to not in self._emitted and to not in waiting]
            if unmet and one not in self._emitted:
                waiting += reversed(unmet)
                continue
            waiting.pop()
            if one not in self._emitted:
                self._emitted.add(one)
                yield from self._facts(one, with_members and one == node)

    def reached(self, backward: ev.BackwardStarted) -> tuple[tuple[int, int], ...]:
        """Return the edges of the pass's inputs that an edge leads to. PyTorch creates an Identity for other inputs,
        which is not recorded.
        """
        if not backward.inputs:
            return ()
        waiting = [node for node, _ in backward.roots]
        found = set(waiting)
        while waiting:
            edges = self._edges.get(waiting.pop())
            unmet = {edge[0] for edge in edges.edges if edge is not None} - found if edges is not None else set()
            found |= unmet
            waiting += unmet
        return tuple(edge for edge in backward.inputs if edge[0] in found)

    def _facts(self, node: int, with_members: bool) -> Iterator[ev.AnyEvent]:
        if (created := self._created.get(node)) is not None:
            yield replace(created, known=False, thread=MAIN_THREAD)
        if (leaf := self._leaves.get(node)) is not None:
            yield leaf
        elif (edges := self._edges.get(node)) is not None:
            yield replace(edges, inputs=())
        if with_members:
            saved = self._saved.get(node, {})
            yield from (_as_seen(one) for name in sorted(saved) for one in _present(saved[name]))


def _present(saved: list[Saved]) -> list[Saved]:
    """Return the saved variables that both recorders show.

    Members without a tensor are left out: the model does not record each of them, and an installed PyTorch does not
    record the places in a list. Members packed by a hook are left out too, because reading them from PyTorch would
    unpack them.
    """
    return [
        one for one in saved if not isinstance(one, ev.VariableSaved) or (one.tensor is not None and not one.packed)
    ]


def _as_seen(saved: Saved) -> Saved:
    """Return a saved variable as both recorders show it. For an undefined optional tensor C++ saves the sizes (0,);
    they become None.
    """
    if isinstance(saved, ev.AttributeSaved) and saved.name.endswith("_sym_sizes_opt") and saved.value == "(0,)":
        return replace(saved, value="None")
    return saved
