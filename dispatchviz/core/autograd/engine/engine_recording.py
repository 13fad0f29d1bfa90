"""The steps of the engine while a recorder listens. Each runs the step itself and records its effect.

The table of ``engine.py`` lists the functions that they replace. Nothing here makes a decision.

Rule 1: a step looks up the recorder again after its work, since recording may have stopped in the meantime.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CodeType
from typing import TYPE_CHECKING

from dispatchviz.core.autograd.engine import input_buffer
from dispatchviz.core.autograd.engine.graph_task import Buffer, GraphTask
from dispatchviz.core.autograd.engine.ready_queue import NodeTask, ReadyQueue
from dispatchviz.core.autograd.graph.edge import Edge
from dispatchviz.core.autograd.graph.node import Gradients, Node
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Tensor

if TYPE_CHECKING:
    from dispatchviz.core.record.machine_recorder import Recorder

RunTask = Callable[[GraphTask, Sequence[Edge], Gradients, bool, Sequence[Edge], Sequence[object]], None]
Capture = Callable[[GraphTask, Node, Buffer], bool]
CallFunction = Callable[[ReadyQueue, GraphTask, Node, Buffer], Gradients]
Push = Callable[[ReadyQueue, NodeTask], None]
Decrement = Callable[[GraphTask, Node, Tensor | None], int]


def recorded_task(run_task: RunTask) -> RunTask:
    """Return ``run_task`` with its BackwardStarted and BackwardFinished recorded."""

    def run(
        task: GraphTask,
        roots: Sequence[Edge],
        gradients: Gradients,
        accumulate: bool,
        outputs: Sequence[Edge],
        inputs: Sequence[object],
    ) -> None:
        rec = recorder.active
        if rec is None:
            run_task(task, roots, gradients, accumulate, outputs, inputs)
            return
        depth = task.reentrant_depth
        rec.backward_started(task, roots, gradients, accumulate, outputs, inputs)
        try:
            run_task(task, roots, gradients, accumulate, outputs, inputs)
        except BaseException as error:
            if depth:
                rec.queues_change()  # no note says when the Nodes that it has queued are gone
            rec.error_raised(error)
            rec.backward_over(task)
            raise
        rec.backward_finished(task)

    return run


def recorded_call(call_function: CallFunction) -> CallFunction:
    """Return ``call_function`` with its NodeStarted and NodeFinished recorded."""

    def call(queue: ReadyQueue, task: GraphTask, node: Node, inputs: Buffer) -> Gradients:
        rec = recorder.active
        if rec is None:
            return call_function(queue, task, node, inputs)
        rec.node_started(node, inputs, queue)
        try:
            outputs = call_function(queue, task, node, inputs)
        except BaseException as error:
            rec.error_raised(error)
            rec.leave()
            raise
        if not task.keep_graph and type(node).saved_variables and recorder.active is not None:
            recorder.active.variables_released(node)
        rec.node_finished(node, outputs)
        return outputs

    return call


def is_node_run(code: CodeType) -> bool:
    """Return whether a function's code is that of the recorded run of a Node."""
    return code.co_name == "call" and code.co_filename == __file__


def recorded_capture(capture: Capture) -> Capture:
    """Return ``capture`` with the captured gradients recorded, and whether the Node need not run."""

    def run(task: GraphTask, node: Node, buffer: Buffer) -> bool:
        needed = _noted(recorder.active, capture, task, node, buffer)
        rec = recorder.active
        if rec is not None:
            for input_nr, position in task.exec_info[node].captures:
                rec.gradient_captured(node, input_nr, buffer[input_nr], position)
            if not needed:
                rec.node_skipped(node)
        return needed

    return run


def _noted(rec: Recorder | None, capture: Capture, task: GraphTask, node: Node, buffer: Buffer) -> bool:
    """Capture gradients, while the recorder counts one popped Node that is not recorded yet."""
    if rec is None:
        return capture(task, node, buffer)
    rec.capturing += 1
    try:
        return capture(task, node, buffer)
    finally:
        rec.capturing -= 1


def recorded_push(push: Push) -> Push:
    """Return ``push`` with the ready Node recorded."""

    def run(queue: ReadyQueue, ready: NodeTask) -> None:
        push(queue, ready)
        rec = recorder.active
        if rec is not None:
            node, task = ready.node, ready.base
            if queue.followed == rec.queue_token and task.outstanding > 1 and node._number >= rec.first_node:
                rec.note(("node_queued", node._number, node.sequence_nr, node.input_metadata))
            else:
                rec.node_queued(ready, queue)

    return run


def recorded_decrement(decrement: Decrement) -> Decrement:
    """Return ``decrement`` with the arrived gradient and the remaining count recorded."""

    def run(task: GraphTask, node: Node, gradient: Tensor | None) -> int:
        left = decrement(task, node, gradient)
        rec = recorder.active
        if rec is not None:
            if gradient is not None and not task.exec_info and node._number >= rec.first_node:
                rec.note(("dependency_met", node._number, left))
            else:
                pruned = bool(task.exec_info) and not task.should_execute(node)
                rec.dependency_met(node, left, gradient is not None, pruned)
        return left

    return run


def recorded_add(task: GraphTask, buffer: Buffer, position: int, gradient: Tensor | None, node: Node) -> None:
    """Record the storing of a first gradient, the usual case, in one note. ``input_buffer.add`` records all others."""
    rec = recorder.active
    if (
        rec is None
        or gradient is None
        or buffer[position] is not None
        or node._number < rec.first_node
        or gradient._number < rec.first_tensor
    ):
        input_buffer.add(buffer, position, gradient, node)
    else:
        buffer[position] = gradient
        rec.note(("gradient_buffered", node._number, position, gradient._number, "stored", input_buffer.FIRST))
