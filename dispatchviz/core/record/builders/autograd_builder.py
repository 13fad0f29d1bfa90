"""Events of autograd: Nodes and their edges, and what the engine does with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatchviz.core.autograd.graph.input_metadata import device_of
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.builders.builder_base import BuilderBase
from dispatchviz.core.record.function_source import source_of

if TYPE_CHECKING:
    from dispatchviz.core.autograd.graph.node import Node
    from dispatchviz.core.record.note_types import Inputs, MaybeTensors, QueuedNodes, Target


class AutogradBuilder(BuilderBase):
    """Nodes, forward and backward."""

    def __init__(self) -> None:
        super().__init__()
        self._formulas_skipped: set[tuple[int | None, int, int]] = set()
        """Of each: the NodeStarted, the Node, the edge."""

    # -- forward ------------------------------------------------------------------------------------------------------

    def node_created(self, number: int, kind: type[Node], sequence_nr: int, topological_nr: int, thread: int) -> None:
        """A Node was made."""
        self._node_met(number, kind, sequence_nr, topological_nr, thread, known=False)

    def node_known(self, number: int, kind: type[Node], sequence_nr: int, topological_nr: int, thread: int) -> None:
        """A Node that was made before the recording appears for the first time."""
        self._node_met(number, kind, sequence_nr, topological_nr, thread, known=True)

    def _node_met(
        self, number: int, kind: type[Node], sequence_nr: int, topological_nr: int, thread: int, known: bool
    ) -> None:
        self._node_classes[number] = kind
        name = kind.cpp_name or kind.__name__
        self._event(ev.NodeCreated, number - self.first_node, name, sequence_nr, topological_nr, thread, known)

    def edges_collected(
        self, node: int, topological_nr: int, edges: tuple[Target | None, ...], tensors: MaybeTensors
    ) -> None:
        """A Node's edges; where they are not one for each name, they are the members of the first."""
        names: tuple[str, ...] = self._node_classes[node].edge_names
        if len(names) != len(tensors):
            names = tuple(f"{names[0] if names else 'input'}[{i}]" for i in range(len(tensors)))
        targets = tuple([None if edge is None else (edge[0] - self.first_node, edge[1]) for edge in edges])
        arguments = self._as_last_time(names, tuple(zip(names, self._tensors(tensors), strict=True)))
        self._event(ev.EdgesCollected, node - self.first_node, targets, arguments, topological_nr)

    def two_edges(
        self, node: int, topological_nr: int, to: int, input_nr: int, other: int, other_nr: int, a: int, b: int
    ) -> None:
        """The same of a Node with two edges that lead somewhere."""
        self.edges_collected(node, topological_nr, ((to, input_nr), (other, other_nr)), (a, b))

    def attribute_saved(self, node: int, name: str, value: Any) -> None:
        """A plain value."""
        self._event(ev.AttributeSaved, node - self.first_node, name, str(value))

    def history_set(self, tensor: int, node: int, output_nr: int) -> None:
        """A result got its grad_fn."""
        self._event(ev.HistorySet, tensor - self.first_tensor, node - self.first_node, output_nr)

    # -- the engine ---------------------------------------------------------------------------------------------------

    def dependency_met(self, node: int, left: int) -> None:
        """One gradient less to wait for."""
        self._event(ev.DependencyMet, node - self.first_node, left)

    def dependency_met_by_nothing(self, node: int, left: int, defined: bool, skipped: bool) -> None:
        """Without a gradient, or to no use."""
        self._event(ev.DependencyMet, node - self.first_node, left, defined, skipped)

    def gradient_buffered(
        self, node: int, input_nr: int, tensor: int, how: ev.BufferMethod, why: ev.BufferReason
    ) -> None:
        """A gradient arrived."""
        self._event(ev.GradientBuffered, node - self.first_node, input_nr, tensor - self.first_tensor, how, why)

    def formula_skipped(self, node: int, edge: int) -> None:
        """A gradient that nobody needs; one event, however often the Node calls ``task_should_compute_output``."""
        skipped = self.open, node, edge
        if skipped not in self._formulas_skipped:
            self._formulas_skipped.add(skipped)
            self._event(ev.FormulaSkipped, node - self.first_node, edge)

    def node_queued(self, node: int, sequence_nr: int, inputs: Inputs, queue: QueuedNodes) -> None:
        """A Node is ready."""
        device = str(device_of(inputs))
        self._event(ev.NodeQueued, node - self.first_node, sequence_nr, device, self._queue(queue))

    def node_queued_alone(self, node: int, sequence_nr: int, inputs: Inputs) -> None:
        """No other one waits."""
        self.node_queued(node, sequence_nr, inputs, ((node, sequence_nr),))

    def node_started(
        self, node: int, sequence_nr: int, gradients: MaybeTensors, waiting: QueuedNodes, inputs: Inputs
    ) -> None:
        """The evaluation of a Node."""
        kind, device = self._node_classes[node], device_of(inputs)
        thread = f"pt_autograd_{device.index or 0}" if device.type == "cuda" else "caller"
        name, source = kind.cpp_name or kind.__name__, source_of(kind.formula())
        number, received, queue = node - self.first_node, self._tensors(gradients), self._queue(waiting)
        self._span(ev.NodeStarted, number, name, sequence_nr, received, queue, str(device), thread, *source)

    def node_started_alone(self, node: int, sequence_nr: int, gradient: int, inputs: Inputs) -> None:
        """It received one gradient, and no other Node waits."""
        self.node_started(node, sequence_nr, (gradient,), (), inputs)

    def node_finished(self, node: int, gradients: MaybeTensors) -> None:
        """A Node is over."""
        self._event(ev.NodeFinished, node - self.first_node, self._tensors(gradients))
        self.leave()

    def node_finished_with_two(self, node: int, gradient: int, other: int) -> None:
        """It returned two gradients."""
        self.node_finished(node, (gradient, other))
