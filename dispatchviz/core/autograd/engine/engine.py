"""The engine: walks the graph of Nodes from the roots back (``torch/csrc/autograd/engine.cpp``).

``execute`` makes a graph task and queues its root; ``_run`` pops one ready Node after the other; ``_evaluate`` runs it
and passes its gradients on; a Node whose last gradient arrived is queued. Which Node comes first is the business of
``ready_queue.py``, where gradients meet that of ``input_buffer.py``.

Rule 1: nothing recurses along the graph. A backward called during a backward is a new graph task, run in place by the
loop of the thread that called it; its Nodes are deeper and come first. ``thread_pool.py`` takes over where that gets
too deep.
Rule 2: at every Node the key sets and modes of the thread that called ``backward`` are in force, and grad mode is
``create_graph``, whatever a hook has left behind.
Rule 3: gradients are in lists, and in no variable while a Node runs: see ``gradient_ownership.py``.
Rule 4: every thread that calls backward has a queue and runs its own graph tasks; threads meet at Nodes alone, whose
rules are in ``node.py``.

NB: in PyTorch, CUDA Nodes run on a worker thread per device, ``pt_autograd_0``, beside the calling thread. Here one
thread runs both kinds from one queue, in one of the orders that are possible there; events name the thread that it
would be, and ``device_threads.py`` has its numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from dispatchviz.core.autograd.engine import anomaly_mode, device_threads, engine_streams, input_buffer, thread_pool
from dispatchviz.core.autograd.engine.graph_task import GONE, Buffer, GraphTask, minimum_topological_nr
from dispatchviz.core.autograd.engine.ready_queue import NodeTask, ReadyQueue
from dispatchviz.core.autograd.engine.validate_outputs import validate_outputs
from dispatchviz.core.autograd.graph.basic_nodes import GraphRoot
from dispatchviz.core.autograd.graph.edge import Edge
from dispatchviz.core.autograd.graph.node import Gradients, Node
from dispatchviz.core.autograd.hooks.hooks import run_post_hooks, run_pre_hooks, run_tensor_pre_hooks
from dispatchviz.core.device import streams
from dispatchviz.core.device.streams import StreamGuard
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread import thread_state, warning
from dispatchviz.core.thread.guards import set_grad_mode
from dispatchviz.core.thread.thread_state import State, keep_state, put_back, thread

if TYPE_CHECKING:
    from dispatchviz.core.record.notes import Recorder

_REFERENCE_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
    "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
    "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break the "
    "cycle and avoid the leak."
)
_FRAMES = 12
"""Of the engine, per nested backward: in PyTorch they are no Python frames and do not count for the recursion limit."""


class _Worker(threading.local):
    """A calling thread's ready queue, kept for later calls, and how many nested backwards it is within."""

    def __init__(self) -> None:
        self.queue = ReadyQueue()
        self.depth = 0


_worker = _Worker()


def execute(
    roots: Sequence[Edge],
    gradients: Gradients,
    keep_graph: bool,
    create_graph: bool,
    accumulate: bool,
    outputs: Sequence[Edge] = (),
    inputs: Sequence[object] = (),
) -> Gradients:
    """Runs the graph below ``roots``.

    ``accumulate`` writes to the leaves (``backward``); otherwise the gradients that arrive at the edges ``outputs``
    are returned (``grad``). With ``outputs`` only what leads to them runs; ``inputs`` are the
    tensors or gradient edges that were named for them, for a recorder. Whatever a Node or hook raises comes out.
    """
    validate_outputs(roots, gradients, None)
    if accumulate and create_graph and warning.first_time("create_graph"):
        warning.warn_python(_REFERENCE_CYCLE, "torch/csrc/autograd/engine.cpp:1307")
    if not accumulate and not outputs:
        raise ValueError("grad requires non-empty inputs.")
    task = GraphTask(keep_graph, create_graph, _depth())
    kept, depth = keep_state(), _worker.depth
    told = _UNTOLD
    if recorder.active is not None:
        told = _told(recorder.active, task, roots, gradients, accumulate, outputs, inputs)
    try:
        with told, _ThreadGivenBack(task):
            _queue_root(task, roots, gradients, accumulate, outputs)
            if not task.reentrant_depth:
                _work(task)
            elif _worker.depth < thread_pool.MAX_DEPTH:
                _work_nested(task)
            else:
                _work_in_pool(task)
    except BaseException:
        put_back(kept)
        task.reentrant_depth, _worker.depth = GONE, depth
        raise
    finally:
        for text in task.warnings:
            warning.give(text)
    return task.captured


def _work(task: GraphTask) -> None:
    """Everything from the root to the last callback."""
    _run(task)
    _put_in_force(thread.state, task, None)
    with _callers_stream(task):
        task.run_final_callbacks()


def _work_nested(task: GraphTask) -> None:
    _worker.depth += 1
    thread_pool.change_recursion_limit(_FRAMES)
    try:
        _work(task)
    finally:
        thread_pool.change_recursion_limit(-_FRAMES)
        _worker.depth -= 1


def _work_in_pool(task: GraphTask) -> None:
    """On a thread of the pool, with the caller's queue and everything else that the caller's thread carries."""
    queue, caller, ident = _worker.queue, thread.state, threading.get_ident()

    def work() -> None:
        _worker.queue = queue
        thread.state.take_over(caller)
        if recorder.active is not None:
            recorder.active.thread_goes_on(ident)
        _work(task)

    thread_pool.pool.run(work)


def _depth() -> int:
    """Of a new graph task: one more than that of the running one."""
    outer = thread.state.graph_task
    return 0 if outer is None else outer.reentrant_depth + 1


_UNTOLD: AbstractContextManager[None] = nullcontext()


@contextmanager
def _told(
    rec: Recorder,
    task: GraphTask,
    roots: Sequence[Edge],
    gradients: Gradients,
    accumulate: bool,
    outputs: Sequence[Edge],
    inputs: Sequence[object],
) -> Iterator[None]:
    """Keeps BackwardStarted open."""
    rec.backward_started(task, roots, gradients, accumulate, outputs, inputs)
    try:
        yield
    except BaseException as error:
        rec.error_raised(error)
        rec.leave()
        raise
    rec.backward_finished(task)


class _ThreadGivenBack:
    """Ends a task and gives the thread back as it was."""

    __slots__ = ("_grad_mode", "_running", "_sets", "_state", "_task")

    def __init__(self, task: GraphTask) -> None:
        self._task = task

    def __enter__(self) -> None:
        state = self._state = thread.state
        self._running = state.graph_task, state.current_node
        self._sets = state.included, state.excluded, state.inference_mode
        self._grad_mode = state.grad_mode

    def __exit__(self, *_: object) -> None:
        self._task.reentrant_depth = GONE
        state = thread.state = self._state
        state.graph_task, state.current_node = self._running
        state.included, state.excluded, state.inference_mode = self._sets
        set_grad_mode(self._grad_mode, "leaving backward")


def _queue_root(
    task: GraphTask, roots: Sequence[Edge], gradients: Gradients, accumulate: bool, outputs: Sequence[Edge]
) -> None:
    """One root starts by itself, several below a GraphRoot that hands out their gradients."""
    root = roots[0].function if len(roots) == 1 else GraphRoot(list(roots), gradients)
    assert root is not None
    min_topological_nr = minimum_topological_nr(outputs)
    task.compute_dependencies(root, min_topological_nr)
    if outputs:
        task.init_to_execute(root, outputs, accumulate, min_topological_nr)
    buffer: Buffer = []
    if len(roots) == 1:
        buffer = [None] * len(root.input_metadata)
        _add(task, buffer, roots[0].input_nr, gradients[0], root)
    _worker.queue.push(NodeTask(task, root, buffer))
    if recorder.active is not None:
        recorder.active.node_queued(root, _worker.queue.nodes_in_order())


def _run(task: GraphTask) -> None:
    """``thread_main``: until nothing of ``task`` is outstanding."""
    queue, state, devices = _worker.queue, thread.state, device_threads.needed()
    own = state
    while task.outstanding:
        ready = queue.pop()
        base = ready.base
        if base.reentrant_depth == GONE:
            continue  # left over from a backward that failed
        if devices:
            thread.state = own
            _put_in_force(own, base, ready.node)  # what a device's thread carries is a copy of it
            state = thread.state = device_threads.state_for(ready.node, own)
        _put_in_force(state, base, ready.node)
        try:
            _evaluate(queue, base, ready.node, ready.buffer)
        except BaseException:
            if anomaly_mode.enabled:
                anomaly_mode.print_stack(ready.node)
            raise
        base.outstanding -= 1


def _put_in_force(state: State, task: GraphTask, node: Node | None) -> None:
    """The state in which ``node``, or a final callback, of ``task`` runs."""
    state.graph_task = task
    state.current_node = node
    state.included = task.included
    state.excluded = task.excluded
    state.inference_mode = task.inference_mode
    if state.grad_mode != task.grad_mode:
        set_grad_mode(task.grad_mode, f"backward with{'' if task.grad_mode else 'out'} create_graph")


def _evaluate(queue: ReadyQueue, task: GraphTask, node: Node, buffer: Buffer) -> None:
    """``evaluate_function``: captures, runs the Node, hands its gradients on."""
    if task.exec_info and not _capture(task, node, buffer):
        return
    if recorder.active is None:
        outputs = _run_node(task, node, buffer)
    else:
        outputs = _run_told(queue, task, node, buffer)
    if outputs is not buffer:
        buffer.clear()  # what the Node received is dead by now: whether a gradient is shared counts references
    if outputs:
        _deliver(queue, task, node, outputs)


warning.delay_within(_evaluate)


def _run_told(queue: ReadyQueue, task: GraphTask, node: Node, buffer: Buffer) -> Gradients:
    """Keeps NodeStarted open."""
    rec = recorder.active
    assert rec is not None
    rec.node_started(node, buffer, queue.nodes_in_order())
    try:
        outputs = _run_node(task, node, buffer)
    except BaseException as error:
        rec.error_raised(error)
        rec.leave()
        raise
    rec.node_finished(node, outputs)
    return outputs


def _capture(task: GraphTask, node: Node, buffer: Buffer) -> bool:
    """Takes what was asked for out of the buffer; says whether the Node must run as well.

    If it does, tensor hooks are yet to come: what is captured is not hooked. Otherwise they run here.
    """
    info = task.exec_info[node]
    if not info.needed:
        run_tensor_pre_hooks(node, buffer)
    for input_nr, position in info.captures:
        task.captured[position] = buffer[input_nr]
        if recorder.active is not None:
            recorder.active.gradient_captured(node, input_nr, buffer[input_nr], position)
    if recorder.active is not None and not info.needed:
        recorder.active.node_skipped(node)
    return info.needed


def _run_node(task: GraphTask, node: Node, inputs: Buffer) -> Gradients:
    """``call_function``: hooks, the Node, validation, hooks; then its saved variables go."""
    hooks = node.hooks
    if hooks is None and not node.tensor_keeps_hooks:
        outputs = node.apply(inputs) if thread_state.alone else node.apply_alone(inputs)
        validate_outputs(node.next_edges, outputs, node)
    else:
        outputs = _run_with_hooks(node, inputs)
    if not task.keep_graph:
        if thread_state.alone:
            node.release_variables()
        else:
            node.release_alone()
        if recorder.active is not None and type(node).saved_variables:
            recorder.active.variables_released(node)
    return outputs


def _run_with_hooks(node: Node, inputs: Buffer) -> Gradients:
    run_tensor_pre_hooks(node, inputs)
    run_pre_hooks(node, inputs)
    hooks = node.hooks
    if hooks is None or hooks.post is None:
        outputs = node.apply(inputs) if thread_state.alone else node.apply_alone(inputs)
        validate_outputs(node.next_edges, outputs, node)
    else:
        outputs = node.apply_alone(inputs.copy())  # the hooks see what the Node was given
        validate_outputs(node.next_edges, outputs, node)
        run_post_hooks(node, hooks.post, outputs, inputs)
    return outputs


def _deliver(queue: ReadyQueue, task: GraphTask, node: Node, outputs: Gradients) -> None:
    """Adds each gradient to the buffer of the Node its edge leads to, and queues a Node that waits for no more."""
    dependencies, not_ready = task.dependencies, task.not_ready
    outputs.reverse()
    for edge in node.next_edges:
        gradient = outputs.pop()
        target = edge.function
        if target is None:
            continue
        left = dependencies.get(target, 0) - 1
        if left > 0:
            dependencies[target] = left
        elif left == 0:
            del dependencies[target]
        else:
            raise RuntimeError(f"dependency not found for {target.name()}")
        rec = recorder.active
        if rec is not None:
            rec.dependency_met(
                target, left, gradient is not None, bool(task.exec_info) and not task.should_execute(target)
            )
        buffer = not_ready.get(target)
        if buffer is None:
            if task.exec_info and not task.should_execute(target):
                continue
            buffer = [None] * len(target.input_metadata)
            if left:
                not_ready[target] = buffer
        elif not left:
            del not_ready[target]
        if gradient is not None:
            if _add is not _add_alone:
                _add(task, buffer, edge.input_nr, gradient, target)
            elif rec is None and buffer[edge.input_nr] is None:
                buffer[edge.input_nr] = gradient  # all that there is to adding, mostly
            else:
                input_buffer.add(buffer, edge.input_nr, gradient, target)
        if not left:
            queue.push(NodeTask(task, target, buffer))
            if rec is not None:
                rec.node_queued(target, queue.nodes_in_order())


def _add_alone(task: GraphTask, buffer: Buffer, position: int, gradient: Tensor | None, node: Node) -> None:
    """While there is one stream, a task does not matter to a sum."""
    input_buffer.add(buffer, position, gradient, node)


_add = _add_alone

# -- streams -----------------------------------------------------------------------------------------------------------

_evaluate_anywhere = _evaluate


def _evaluate_on_its_stream(queue: ReadyQueue, task: GraphTask, node: Node, buffer: Buffer) -> None:
    """A Node runs on the stream of its forward, once that may use the gradients."""
    stream = node.stream()
    with StreamGuard(stream, f"the forward of {node.name()} ran on it"):
        engine_streams.wait_for_inputs(task, node, buffer)
        info = task.exec_info.get(node)
        if not node.next_edges or (info is not None and info.captures):
            engine_streams.leaf_done(task, stream)
        _evaluate_anywhere(queue, task, node, buffer)


def _callers_stream(task: GraphTask) -> AbstractContextManager[None]:
    """Final callbacks run where the caller of backward is, whose stream has waited for all gradients."""
    if task.streams is None:
        return nullcontext()
    engine_streams.join_leaves(task)
    return StreamGuard(task.streams.caller, "final callbacks")


def _use_streams(in_use: bool) -> None:
    """Who has one stream pays for none."""
    global _evaluate, _add
    _evaluate, _add = (_evaluate_on_its_stream, engine_streams.add) if in_use else (_evaluate_anywhere, _add_alone)


streams.when_use_changes.append(_use_streams)

# -- anomaly mode ------------------------------------------------------------------------------------------------------

_deliver_unseen = _deliver


def _deliver_seen(queue: ReadyQueue, task: GraphTask, node: Node, outputs: Gradients) -> None:
    anomaly_mode.raise_if_nan(node, outputs)
    _deliver_unseen(queue, task, node, outputs)


def _choose() -> None:
    """What a Node returned is looked through only while somebody wants that."""
    global _deliver
    _deliver = _deliver_seen if anomaly_mode.enabled and anomaly_mode.check_nan else _deliver_unseen


anomaly_mode.when_it_changes.append(_choose)
