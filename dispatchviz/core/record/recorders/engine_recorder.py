"""The recorder of the backward engine, from the roots of a graph task to its captured gradients."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.recorders.recorder_base import RecorderBase, numbering, tensors_in
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.autograd.engine.graph_task import GraphTask
    from dispatchviz.core.autograd.engine.ready_queue import NodeTask, ReadyQueue
    from dispatchviz.core.autograd.graph.edge import Edge
    from dispatchviz.core.autograd.graph.node import Node
    from dispatchviz.core.record.event_builder import EventBuilder
    from dispatchviz.core.record.note_types import Target
    from dispatchviz.core.tensor.tensor import Tensor

_queue_tokens = count(1)


class EngineRecorder(RecorderBase):
    """The recorder's methods for the engine.

    Notes say which Nodes are pushed to and popped off a ready queue. They do not list the queue each time, since that
    would take n times n items for n Nodes. If the notes do not determine a queue's content, it is listed completely
    until it is empty. That happens when the recording began within a backward, a sequence number was set, a backward
    within another one failed, or the hook of a Node that will not run called ``backward``.
    """

    def __init__(self, builder: EventBuilder | None = None) -> None:
        super().__init__(builder)
        self._graph_tasks = defaultdict[int, int](count().__next__)
        """The number in this recording of each running graph task, by PyTorch's id, which counts per process."""
        self._known_queues: set[int] = set()
        """Graph tasks, by id, whose queue is known because this recording has seen the outermost backward begin."""
        self.queue_token = next(_queue_tokens)
        """The token of this recording. The notes determine the content of a ready queue whose ``followed`` has it."""
        self.capturing = 0
        """The number of Nodes that were popped and not yet recorded: their gradients are being captured."""

    def backward_started(
        self,
        task: GraphTask,
        roots: Sequence[Edge],
        gradients: Sequence[Tensor | None],
        accumulate: bool,
        inputs: Sequence[Edge] = (),
        input_tensors: Sequence[object] = (),
    ) -> None:
        """Open the event of a backward."""
        outer = thread.state.graph_task
        if outer is None or outer.id in self._known_queues:
            self._known_queues.add(task.id)
        if self.capturing:
            self.queues_change()  # it is called by a hook of a Node that is popped
        self._emit_span(
            ev.BackwardStarted,
            self._graph_task(task),
            self._ends_of(roots),
            self._tensors(gradients),
            task.keep_graph,
            task.grad_mode,
            accumulate,
            task.reentrant_depth,
            self._ends_of(inputs),
            tuple(next((self._tensor(tensor) for tensor in tensors_in(given)), None) for given in input_tensors),
        )

    def _ends_of(self, edges: Sequence[Edge]) -> tuple[Target, ...]:
        return tuple((self._node(edge.function), edge.input_nr) for edge in edges if edge.function is not None)

    def thread_continues(self, ident: int) -> None:
        """Record that this thread continues the innermost open event of another thread, which waits for it."""
        self.note(("continues_thread", ident))

    def backward_finished(self, task: GraphTask) -> None:
        """Record that the graph task is complete."""
        self._emit(ev.BackwardFinished, self._graph_task(task))
        self.backward_over(task)

    def backward_over(self, task: GraphTask) -> None:
        """Forget the graph task, which is complete or failed with an exception."""
        self._known_queues.discard(task.id)
        self._graph_tasks.pop(task.id, None)
        self.leave()

    def callback_queued(self, task: GraphTask, function: str, position: int) -> None:
        """Record that a final callback was queued."""
        self._emit(ev.FinalCallbackQueued, self._graph_task(task), function, position)

    def callback_called(self, task: GraphTask, function: str, position: int) -> None:
        """Record that a final callback is about to run."""
        self._emit(ev.FinalCallbackCalled, self._graph_task(task), function, position)

    def _graph_task(self, task: GraphTask) -> int:
        with numbering:
            return self._graph_tasks[task.id]

    # -- before the first Node ----------------------------------------------------------------------------------------

    def dependencies_counted(self, counts: Mapping[Node, int], min_topo_nr: int) -> None:
        """Record the counts, in order of discovery."""
        numbered = tuple((self._node(node), count) for node, count in counts.items())
        self._emit(ev.DependenciesCounted, numbered, min_topo_nr)

    def exec_info_populated(self, task: GraphTask) -> None:
        """Record ``exec_info``, which is complete. ``dependencies`` has the Nodes that were reached."""
        infos = [(self._node(node), info) for node, info in task.exec_info.items()]
        captures = tuple((node, input_nr, index) for node, info in infos for input_nr, index in info.captures)
        found = dict.fromkeys([task.root, *task.dependencies])
        pruned = tuple((self._node(node), _pruned_by(task, node)) for node in found if not task.should_execute(node))
        self._emit(ev.ExecInfoPopulated, tuple(node for node, info in infos if info.needed), captures, pruned)

    # -- Nodes --------------------------------------------------------------------------------------------------------

    def dependency_met(self, node: Node, left: int, defined: bool, skipped: bool, /) -> None:
        """Record that a Node waits for one gradient less."""
        number = node._number
        if number < self.first_node:
            number = self._introduce_node(node)
        if defined and not skipped:
            self.note(("dependency_met", number, left))
        else:
            self.note(("dependency_met_by_nothing", number, left, defined, skipped))

    def node_queued(self, ready: NodeTask, queue: ReadyQueue, /) -> None:
        """Record that a Node is ready and has been pushed to the queue."""
        node, task = ready.node, ready.base
        number, sequence_nr = self._node_serial(node), node.sequence_nr
        if task.outstanding == 1 and not task.reentrant_depth and task.id in self._known_queues:
            queue.followed = self.queue_token  # the root of an outermost backward: leftovers in the queue are void
        if queue.followed == self.queue_token:
            self.note(("node_queued", number, sequence_nr, node.input_metadata))
            return
        self.note(("node_queued_among", number, sequence_nr, node.input_metadata, self._queued(queue.nodes_in_order())))
        if len(queue) == 1 and task.id in self._known_queues:
            queue.followed = self.queue_token

    def queues_change(self) -> None:
        """Note that a ready queue changes without a note. It is listed completely until it is empty."""
        self.queue_token = next(_queue_tokens)

    def node_skipped(self, node: Node) -> None:
        """Record that a Node was popped and is not needed."""
        self._emit(ev.NodeSkipped, self._node(node))

    def node_started(self, node: Node, gradients: Sequence[Tensor | None], queue: ReadyQueue, /) -> None:
        """Open the event of a Node's evaluation. The Node is no longer in the queue."""
        number, sequence_nr, inputs = self._node_serial(node), node.sequence_nr, node.input_metadata
        waiting = None if queue.followed == self.queue_token else self._queued(queue.nodes_in_order())
        if len(gradients) == 1 and gradients[0] is not None and waiting is None:
            gradient = self._serial(gradients[0])
            self.note(("node_started_with_one", number, node.__class__, sequence_nr, gradient, inputs))
        else:
            received = self._serials(gradients)
            self.note(("node_started", number, node.__class__, sequence_nr, received, waiting, inputs))

    def formula_skipped(self, node: Node, edge: int) -> None:
        """Record that a gradient is not computed because it is not needed."""
        self.note(("formula_skipped", self._node_serial(node), edge))

    def node_finished(self, node: Node, gradients: Sequence[Tensor | None], /) -> None:
        """Record that the Node returned its gradients, which ends its event."""
        number = self._node_serial(node)
        if len(gradients) == 2 and gradients[0] is not None and gradients[1] is not None:
            self.note(("node_finished_with_two", number, self._serial(gradients[0]), self._serial(gradients[1])))
        else:
            self.note(("node_finished", number, self._serials(gradients)))

    def hook_ran(
        self,
        kind: ev.HookKind,
        node: Node,
        function: str,
        replaced: bool,
        kept: bool = False,
        gradients: Sequence[Tensor | None] = (),
    ) -> None:
        """Record a call of a hook. ``gradients`` are those after it."""
        numbers = tuple([None if one is None else self._tensor(one) for one in gradients]) if replaced else ()
        self._emit(ev.HookRan, kind, self._node(node), function, replaced, kept, numbers)

    def anomaly_found(self, node: Node, lines: str) -> None:
        """Record that an error was raised in a Node, in anomaly mode."""
        self._emit(ev.AnomalyFound, self._node(node), lines)

    def variables_released(self, node: Node, /) -> None:
        """Record that saved variables were released."""
        if self.finds_callers:
            self.find_caller()
        self._emit(ev.VariablesReleased, self._node(node))

    # -- gradients ----------------------------------------------------------------------------------------------------

    def gradient_reduced(self, before: Tensor, after: Tensor, shape: tuple[int, ...]) -> None:
        """Record that a broadcast gradient was summed."""
        self._emit(ev.GradientReduced, self._tensor(before), self._tensor(after), shape)

    def gradient_buffered(
        self, node: Node, input_nr: int, tensor: Tensor, how: ev.BufferMethod, why: ev.BufferReason, /
    ) -> None:
        """Record that a gradient arrived in an input buffer."""
        number, gradient = node._number, tensor._number
        if number < self.first_node or gradient < self.first_tensor:
            number, gradient = self._node_serial(node), self._serial(tensor)
        self.note(("gradient_buffered", number, input_nr, gradient, how, why))

    def gradient_accumulated(
        self, tensor: Tensor, gradient: Tensor, result: Tensor, how: ev.AccumulationMethod, why: str
    ) -> None:
        """Record that a leaf's .grad was written."""
        number, added, after = self._tensor(tensor), self._tensor(gradient), self._tensor(result)
        self._emit(ev.GradientAccumulated, number, added, after, how, why)

    def gradient_captured(self, node: Node, input_nr: int, tensor: Tensor | None, position: int) -> None:
        """Record that ``grad()`` captured a gradient."""
        self._emit(ev.GradientCaptured, self._node(node), input_nr, self._tensor_or_none(tensor), position)


def _pruned_by(task: GraphTask, node: Node) -> ev.PruneReason:
    """The reason why a Node is not needed."""
    return "topological_nr" if node._topological_nr < task.min_topological_nr else "should_execute"
