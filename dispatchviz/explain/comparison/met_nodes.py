"""The Nodes of a trace, each told where it can be seen from outside: with its edges and what it saved, once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from dispatchviz.core.record import events as ev

Saved = ev.AttributeSaved | ev.VariableSaved

MAIN_THREAD = 1
"""In place of the thread that made a Node, which an installed PyTorch does not tell."""


class MetNodes:
    """What events tell of Nodes, by Node."""

    def __init__(self, events: Iterable[ev.AnyEvent]) -> None:
        self._created: dict[int, ev.NodeCreated] = {}
        self._edges: dict[int, ev.EdgesCollected] = {}
        self._leaves: dict[int, ev.AccumulatorMade] = {}
        self._saved: dict[int, dict[str, list[Saved]]] = {}
        """Of each Node what it saved, by name; of a list its tensors, one after another."""
        self._of_numbers: set[int] = set()
        """Tensors that wrap a Python number."""
        self._told: set[int] = set()
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
                pass  # while hooks pack, an installed PyTorch cannot be asked for what they do not pack either
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
        """Tells of a Node, after those that its edges lead to, as far as they were not met before.

        What it saved is told ``with_members``: of the Node of a result, when the autograd kernel has returned."""
        waiting = [node]
        while waiting:
            one = waiting[-1]
            edges = self._edges.get(one)
            targets = [] if edges is None else [edge[0] for edge in edges.edges if edge is not None]
            unmet = [to for to in targets if to not in self._told and to not in waiting]
            if unmet and one not in self._told:
                waiting += reversed(unmet)
                continue
            waiting.pop()
            if one not in self._told:
                self._told.add(one)
                yield from self._facts(one, with_members and one == node)

    def reached(self, backward: ev.BackwardStarted) -> tuple[tuple[int, int], ...]:
        """The edges of its inputs that an edge leads to. PyTorch makes an Identity for another one, which is not
        seen."""
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
    """Without members that hold no tensor: the model does not tell of each of them, and an installed PyTorch does not
    tell of the places of a list. And without those that a hook packed: to ask PyTorch for them would unpack them."""
    return [
        one for one in saved if not isinstance(one, ev.VariableSaved) or (one.tensor is not None and not one.packed)
    ]


def _as_seen(saved: Saved) -> Saved:
    """An undefined tensor that C++ passes for an optional one has sizes, (0,); a recorder passes None in its place."""
    if isinstance(saved, ev.AttributeSaved) and saved.name.endswith("_sym_sizes_opt") and saved.value == "(0,)":
        return replace(saved, value="None")
    return saved
