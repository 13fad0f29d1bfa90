"""Events of autograd: Nodes, their edges, and the engine's work on them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dispatchviz.core.autograd.function.python_function import FunctionBase
from dispatchviz.core.autograd.graph.input_metadata import device_of
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.builders.builder_base import BuilderBase, reads_note
from dispatchviz.core.record.builders.deletion_order import Targets, in_order
from dispatchviz.core.record.builders.shared_text import device_text
from dispatchviz.core.record.events import (
    AttributeSaved,
    DependencyMet,
    EdgesCollected,
    GradientBuffered,
    HistorySet,
    NodeCreated,
    NodeDeleted,
    NodeFinished,
    NodeQueued,
    NodeStarted,
)
from dispatchviz.core.record.function_source import source_of

if TYPE_CHECKING:
    from dispatchviz.core.autograd.graph.node import Node
    from dispatchviz.core.record.note_types import Inputs, MaybeTensors, QueuedNodes, Target


class _NodeText(Struct, frozen=True):
    """The facts that all Nodes of a class share."""

    name: str
    edge_names: tuple[str, ...]
    is_python_object: bool
    """True if PyTorch frees it as a Python object."""


class _NodeTexts(dict[type, _NodeText]):
    """The facts by class."""

    def __missing__(self, kind: type[Node]) -> _NodeText:
        name = kind.cpp_name or kind.__name__
        is_function = isinstance(kind, type) and issubclass(kind, FunctionBase)  # not a ``NodeKind``
        text = self[kind] = _NodeText(name, kind.edge_names, is_function)
        return text


class AutogradBuilder(BuilderBase):
    """The builder of events of Nodes, forward and backward."""

    def __init__(self) -> None:
        super().__init__()
        self._node_texts = _NodeTexts()
        self._targets: dict[int, Targets] = {}
        """The targets of the edges of each Node that is not freed, as serial numbers."""
        self._python_objects: set[int] = set()
        """The Nodes that PyTorch frees as Python objects, as serial numbers."""
        self._formulas_skipped: set[tuple[int | None, int, int]] = set()
        """Triples of the NodeStarted, the Node and the edge."""

    # -- forward ------------------------------------------------------------------------------------------------------

    @reads_note
    def node_created(self, number: int, kind: type[Node], sequence_nr: int, topological_nr: int, thread: int) -> None:
        """Append the creation of a Node."""
        self._node_met(number, kind, sequence_nr, topological_nr, thread, False)

    @reads_note
    def node_known(self, number: int, kind: type[Node], sequence_nr: int, topological_nr: int, thread: int) -> None:
        """Append a Node that was created before the recording and appears for the first time."""
        self._node_met(number, kind, sequence_nr, topological_nr, thread, True)

    def _node_met(
        self, number: int, kind: type[Node], sequence_nr: int, topological_nr: int, thread: int, known: bool
    ) -> None:
        text = self._node_texts[kind]
        if text.is_python_object:
            self._python_objects.add(number)
        node, seq = self.nodes[number], self._next()
        event = NodeCreated(seq, self.open, node, text.name, sequence_nr, topological_nr, thread, known)
        self.events.append(event)

    @reads_note
    def edges_collected(
        self,
        node: int,
        kind: type[Node],
        topological_nr: int,
        edges: tuple[Target | None, ...],
        tensors: MaybeTensors,
    ) -> None:
        """Append a Node's edges. If there is not one edge for each name, they are the members of the first."""
        names = self._node_texts[kind].edge_names
        if len(names) != len(tensors):
            names = tuple(f"{names[0] if names else 'input'}[{i}]" for i in range(len(tensors)))
        self._targets[node] = tuple([edge[0] for edge in edges if edge is not None])
        targets = tuple([None if edge is None else (self.nodes[edge[0]], edge[1]) for edge in edges])
        arguments = self._as_last_time(names, tuple(zip(names, self._tensors(tensors), strict=True)))
        self._event(EdgesCollected, self.nodes[node], targets, arguments, topological_nr)

    @reads_note
    def two_edges(
        self,
        node: int,
        kind: type[Node],
        topological_nr: int,
        to: int,
        input_nr: int,
        other: int,
        other_nr: int,
        a: int,
        b: int,
    ) -> None:
        """Append the edges of a Node with two edges that lead to Nodes."""
        names, nodes, tensors = self._node_texts[kind].edge_names, self.nodes, self.tensors
        if len(names) != 2:
            self.edges_collected(node, kind, topological_nr, ((to, input_nr), (other, other_nr)), (a, b))
            return
        self._targets[node] = to, other
        targets = (nodes[to], input_nr), (nodes[other], other_nr)
        arguments = self._as_last_time(names, ((names[0], tensors[a]), (names[1], tensors[b])))
        seq = self._next()
        self.events.append(EdgesCollected(seq, self.open, nodes[node], targets, arguments, topological_nr))

    @reads_note
    def attribute_saved(self, node: int, name: str, value: Any) -> None:
        """Append a saved plain value."""
        text = value if value.__class__ is str else sys.intern(str(value))
        self.events.append(AttributeSaved(self._next(), self.open, self.nodes[node], name, text))

    @reads_note
    def history_set(self, tensor: int, node: int, output_nr: int) -> None:
        """Append that a result got its grad_fn."""
        self.events.append(HistorySet(self._next(), self.open, self.tensors[tensor], self.nodes[node], output_nr))

    def nodes_freed(self, freed: list[int]) -> None:
        """Append the end of Nodes that were freed together, in PyTorch's order."""
        for node, by in in_order(freed, self._targets, self._python_objects):
            self._event(NodeDeleted, self.nodes[node], None if by is None else self.nodes[by])
        for node in freed:
            self._targets.pop(node, None)
        self._python_objects.difference_update(freed)

    def forget_written(self) -> set[int]:
        """Forget the events that a stream has written, and the skipped formulas of Nodes that are over."""
        needed = super().forget_written()
        self._formulas_skipped = {skipped for skipped in self._formulas_skipped if skipped[0] in needed}
        return needed

    # -- the engine ---------------------------------------------------------------------------------------------------

    @reads_note
    def dependency_met(self, node: int, left: int) -> None:
        """Append that a Node waits for one gradient less."""
        self.events.append(DependencyMet(self._next(), self.open, self.nodes[node], left))

    @reads_note
    def dependency_met_by_nothing(self, node: int, left: int, defined: bool, skipped: bool) -> None:
        """Append that an edge is done without a gradient, or that its gradient is dropped."""
        self._event(DependencyMet, self.nodes[node], left, defined, skipped)

    @reads_note
    def gradient_buffered(
        self, node: int, input_nr: int, tensor: int, how: ev.BufferMethod, why: ev.BufferReason
    ) -> None:
        """Append that a gradient arrived."""
        number, gradient, seq = self.nodes[node], self.tensors[tensor], self._next()
        self.events.append(GradientBuffered(seq, self.open, number, input_nr, gradient, how, why))

    @reads_note
    def formula_skipped(self, node: int, edge: int) -> None:
        """Append that a gradient is not computed. It is one event even if the Node calls ``task_should_compute_output``
        several times.
        """
        skipped = self.open, node, edge
        if skipped not in self._formulas_skipped:
            self._formulas_skipped.add(skipped)
            self._event(ev.FormulaSkipped, self.nodes[node], edge)

    @reads_note
    def node_queued(self, node: int, sequence_nr: int, inputs: Inputs) -> None:
        """Append that a Node is ready."""
        self._event(NodeQueued, self.nodes[node], sequence_nr, device_text(device_of(inputs)))

    @reads_note
    def node_queued_among(self, node: int, sequence_nr: int, inputs: Inputs, queue: QueuedNodes) -> None:
        """Append that a Node is ready, with the whole queue, whose content earlier notes do not determine."""
        self._event(NodeQueued, self.nodes[node], sequence_nr, device_text(device_of(inputs)), self._queue(queue))

    @reads_note
    def node_started(
        self,
        node: int,
        kind: type[Node],
        sequence_nr: int,
        gradients: MaybeTensors,
        waiting: QueuedNodes | None,
        inputs: Inputs,
    ) -> None:
        """Append the evaluation of a Node."""
        queue = None if waiting is None else self._queue(waiting)
        self._started(node, kind, sequence_nr, self._tensors(gradients), queue, inputs)

    @reads_note
    def node_started_with_one(
        self, node: int, kind: type[Node], sequence_nr: int, gradient: int, inputs: Inputs
    ) -> None:
        """Append the evaluation of a Node that received one gradient."""
        self._started(node, kind, sequence_nr, self._alone[gradient], None, inputs)

    def _started(
        self,
        node: int,
        kind: type[Node],
        sequence_nr: int,
        received: MaybeTensors,
        queue: QueuedNodes | None,
        inputs: Inputs,
    ) -> None:
        name, device = self._node_texts[kind].name, device_of(inputs)
        thread = "caller" if device.type != "cuda" else sys.intern(f"pt_autograd_{device.index or 0}")
        file, line, end_line = source_of(kind.formula())
        number, place, seq = self.nodes[node], device_text(device), self._next()
        event = NodeStarted(
            seq, self.open, number, name, sequence_nr, received, queue, place, thread, file, line, end_line
        )
        self.events.append(event)
        self.open = seq

    @reads_note
    def node_finished(self, node: int, gradients: MaybeTensors) -> None:
        """Append the end of a Node."""
        self._event(NodeFinished, self.nodes[node], self._tensors(gradients))
        self.leave()

    @reads_note
    def node_finished_with_two(self, node: int, gradient: int, other: int) -> None:
        """Append the end of a Node that returned two gradients."""
        gradients, seq = (self.tensors[gradient], self.tensors[other]), self._next()
        self.events.append(NodeFinished(seq, self.open, self.nodes[node], gradients))
        self.leave()
