"""The engine, which runs the graph of Nodes backward from the roots (``torch/csrc/autograd/engine.cpp``).

``execute`` creates a graph task and queues its root. ``_run`` pops one ready Node after the other. ``_call_function``
runs it and validates its gradients. ``_route`` adds each gradient to the buffer of the next Node, decrements that
Node's count and pushes it when the count reaches zero. ``ready_queue.py`` decides which Node comes first, and
``input_buffer.py`` how gradients are added. The table at the end lists the additional work of a step in each mode of
the process. ``engine_recording.py`` has the notes for a recorder.

Rule 1: nothing recurses along the graph. A backward called during a backward is a new graph task, run in place by the
loop of the thread that called it. Its Nodes are deeper and come first. ``thread_pool.py`` takes over if that becomes
too deep.
Rule 2: at every Node the key sets and modes of the thread that called ``backward`` are in force, and grad mode is
``create_graph``, even if a hook has changed them.
Rule 3: gradients are in lists, and in no variable while a Node runs: see ``accumulate_grad.py``.
Rule 4: every thread that calls backward has a queue and runs its own graph tasks. Threads meet only at Nodes;
``node.py`` has the rules for that.

NB: in PyTorch, CUDA Nodes run on a worker thread per device, ``pt_autograd_0``, beside the calling thread. Here one
thread runs both kinds from one queue, in one of the orders that are possible there. Events name the thread that PyTorch
would use, and ``device_threads.py`` has its numbers.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence

from dispatchviz.core.autograd.engine import anomaly_mode, device_threads, engine_streams, input_buffer, thread_pool
from dispatchviz.core.autograd.engine.engine_recording import (
    recorded_add,
    recorded_call,
    recorded_capture,
    recorded_decrement,
    recorded_push,
    recorded_task,
)
from dispatchviz.core.autograd.engine.graph_task import GONE, Buffer, GraphTask, minimum_topological_nr
from dispatchviz.core.autograd.engine.ready_queue import NodeTask, ReadyQueue
from dispatchviz.core.autograd.engine.validate_outputs import validate_outputs
from dispatchviz.core.autograd.graph.basic_nodes import GraphRoot
from dispatchviz.core.autograd.graph.edge import Edge
from dispatchviz.core.autograd.graph.node import Gradients, Node
from dispatchviz.core.autograd.hooks.hooks import run_post_hooks, run_pre_hooks, run_tensor_pre_hooks
from dispatchviz.core.device.streams import StreamGuard
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.process_modes import NO_MODE, Mode, process_modes
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread import warning
from dispatchviz.core.thread.guards import set_grad_mode
from dispatchviz.core.thread.thread_state import State, restore_state, save_state, thread

_REFERENCE_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
    "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
    "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break the "
    "cycle and avoid the leak."
)
_FRAMES = 12
"""The engine's Python frames per nested backward. PyTorch's engine has none, so they do not count for the recursion
limit.
"""


class _Worker(threading.local):
    """A calling thread's ready queue, kept for later calls, and the number of nested backwards around it."""

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
    """Run the graph below ``roots``.

    With ``accumulate`` the leaves are written to (``backward``). Otherwise the gradients that arrive at the edges
    ``outputs`` are returned (``grad``). With ``outputs`` only the Nodes that lead to them run. ``inputs`` are the
    tensors or gradient edges that the caller named for them, for a recorder. Exceptions of Nodes and hooks are passed
    on.
    """
    validate_outputs(roots, gradients, None)
    if accumulate and create_graph and warning.first_time("create_graph"):
        warning.warn_python(_REFERENCE_CYCLE, "torch/csrc/autograd/engine.cpp:1307")
    if not accumulate and not outputs:
        raise ValueError("grad requires non-empty inputs.")
    task = GraphTask(keep_graph, create_graph, _depth())
    kept, depth = save_state(), _worker.depth
    try:
        _run_task(task, roots, gradients, accumulate, outputs, inputs)
    except BaseException:
        restore_state(kept)
        task.reentrant_depth, _worker.depth = GONE, depth
        raise
    finally:
        for text in task.warnings:
            warning.issue(text)
    return task.captured


def _run_task(
    task: GraphTask,
    roots: Sequence[Edge],
    gradients: Gradients,
    accumulate: bool,
    outputs: Sequence[Edge],
    inputs: Sequence[object],
) -> None:
    """Queue the root and work, on a thread whose stack is not too deep. Then restore the thread."""
    state = thread.state
    running, sets = (state.graph_task, state.current_node), (state.included, state.excluded, state.inference_mode)
    grad_mode = state.grad_mode
    try:
        _queue_root(task, roots, gradients, accumulate, outputs)
        if not task.reentrant_depth:
            _work(task)
        elif _worker.depth < thread_pool.MAX_DEPTH:
            _work_nested(task)
        else:
            _work_in_pool(task)
    finally:
        task.reentrant_depth = GONE
        thread.state = state
        state.graph_task, state.current_node = running
        state.included, state.excluded, state.inference_mode = sets
        set_grad_mode(grad_mode, "leaving backward")


def _work(task: GraphTask) -> None:
    """Run everything from the root to the last callback."""
    _run(task)
    _put_in_force(thread.state, task, None)
    if task.streams is None:
        task.run_final_callbacks()
    else:
        with _callers_stream(task.streams, task):
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
    """Work on a thread of the pool, with the caller's queue and all thread-local state of the caller."""
    queue, caller, ident = _worker.queue, thread.state, threading.get_ident()

    def work() -> None:
        _worker.queue = queue
        thread.state.copy_from(caller)
        if recorder.active is not None:
            recorder.active.thread_continues(ident)
        _work(task)

    thread_pool.pool.run(work)


def _depth() -> int:
    """Return the depth of a new graph task: one more than that of the running one."""
    outer = thread.state.graph_task
    return 0 if outer is None else outer.reentrant_depth + 1


def _queue_root(
    task: GraphTask, roots: Sequence[Edge], gradients: Gradients, accumulate: bool, outputs: Sequence[Edge]
) -> None:
    """Queue the root. Several roots get a GraphRoot that distributes their gradients."""
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


def _run(task: GraphTask) -> None:
    """Run Nodes until nothing of ``task`` is outstanding (``thread_main``)."""
    queue, state, devices = _worker.queue, thread.state, device_threads.needed()
    own = state
    while task.outstanding:
        ready = queue.pop()
        base = ready.base
        if base.reentrant_depth == GONE:
            continue  # left over from a backward that failed
        if devices:
            thread.state = own
            _put_in_force(own, base, ready.node)  # a device's thread has a copy of it
            state = thread.state = device_threads.state_for(ready.node, own)
        _put_in_force(state, base, ready.node)
        try:
            _evaluate(queue, base, ready.node, ready.buffer)
        except BaseException:
            if anomaly_mode.is_enabled():
                anomaly_mode.print_stack(ready.node)
            raise
        base.outstanding -= 1


def _put_in_force(state: State, task: GraphTask, node: Node | None) -> None:
    """Set the state in which ``node``, or a final callback, of ``task`` runs."""
    state.graph_task = task
    state.current_node = node
    state.included = task.included
    state.excluded = task.excluded
    state.inference_mode = task.inference_mode
    if state.grad_mode != task.grad_mode:
        set_grad_mode(task.grad_mode, f"backward with{'' if task.grad_mode else 'out'} create_graph")


def _evaluate(queue: ReadyQueue, task: GraphTask, node: Node, buffer: Buffer) -> None:
    """Capture gradients, run the Node and route its gradients (``evaluate_function``)."""
    if task.exec_info and not _capture(task, node, buffer):
        return
    outputs = _call_function(queue, task, node, buffer)
    if outputs is not buffer:
        buffer.clear()  # they must be dead by now: counting references decides whether a gradient is shared
    if outputs:
        _route(queue, task, node, outputs)


warning.delay_within(_evaluate)


def _capture(task: GraphTask, node: Node, buffer: Buffer) -> bool:
    """Copy the requested gradients from the buffer. Return whether the Node must run as well.

    If it must, tensor hooks run later, so the captured gradients are not hooked. Otherwise the hooks run here.
    """
    info = task.exec_info[node]
    if not info.needed:
        run_tensor_pre_hooks(node, buffer)
    for input_nr, position in info.captures:
        task.captured[position] = buffer[input_nr]
    return info.needed


def _call_function(queue: ReadyQueue, task: GraphTask, node: Node, inputs: Buffer) -> Gradients:
    """Run hooks, the Node, validation, hooks; then release its saved variables (``call_function``)."""
    hooks = node.hooks
    if hooks is None and not node.tensor_keeps_hooks:
        outputs = node.apply_alone(inputs) if process_modes.several_threads else node.apply(inputs)
        validate_outputs(node.next_edges, outputs, node)
    else:
        outputs = _call_with_hooks(node, inputs)
    if not task.keep_graph:
        if process_modes.several_threads:
            node.release_alone()
        else:
            node.release_variables()
    return outputs


def _call_with_hooks(node: Node, inputs: Buffer) -> Gradients:
    run_tensor_pre_hooks(node, inputs)
    run_pre_hooks(node, inputs)
    hooks = node.hooks
    if hooks is None or hooks.post is None:
        outputs = node.apply_alone(inputs) if process_modes.several_threads else node.apply(inputs)
        validate_outputs(node.next_edges, outputs, node)
    else:
        outputs = node.apply_alone(inputs.copy())  # the hooks see the gradients that the Node received
        validate_outputs(node.next_edges, outputs, node)
        run_post_hooks(node, hooks.post, outputs, inputs)
    return outputs


def _route(queue: ReadyQueue, task: GraphTask, node: Node, outputs: Gradients) -> None:
    """Add each gradient to the buffer of the Node to which its edge leads, and push each Node that is ready."""
    not_ready = task.not_ready
    outputs.reverse()
    for edge in node.next_edges:
        gradient = outputs.pop()
        target = edge.function
        if target is None:
            continue
        left = task.decrement(target, gradient)
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
            if buffer[edge.input_nr] is None and _add is _add_plain:
                buffer[edge.input_nr] = gradient  # the usual case of adding
            else:
                _add(task, buffer, edge.input_nr, gradient, target)
        if not left:
            queue.push(NodeTask(task, target, buffer))


def _add(task: GraphTask, buffer: Buffer, position: int, gradient: Tensor | None, node: Node) -> None:
    """Add a gradient to the buffer (``InputBuffer::add``)."""
    input_buffer.add(buffer, position, gradient, node)


# -- implementations for each mode -------------------------------------------------------------------------------------

_evaluate_plain, _route_plain, _add_plain = _evaluate, _route, _add


def _evaluate_on_its_stream(queue: ReadyQueue, task: GraphTask, node: Node, buffer: Buffer) -> None:
    """Evaluate a Node on the stream of its forward, after that stream has waited for the gradients."""
    stream = type(node).stream(node)
    with StreamGuard(stream, f"the forward of {type(node).name(node)} ran on it"):
        engine_streams.wait_for_inputs(task, node, buffer)
        info = task.exec_info.get(node)
        if not node.next_edges or (info is not None and info.captures):
            engine_streams.leaf_done(task, stream)
        _evaluate_plain(queue, task, node, buffer)


def _callers_stream(streams: engine_streams.Tracking, task: GraphTask) -> StreamGuard:
    """Return a guard for the caller's stream, which has waited for all gradients. Final callbacks run on it."""
    engine_streams.join_leaves(task)
    return StreamGuard(streams.caller, "final callbacks")


def _route_unless_nan(queue: ReadyQueue, task: GraphTask, node: Node, outputs: Gradients) -> None:
    anomaly_mode.raise_if_nan(node, outputs)
    _route_plain(queue, task, node, outputs)


def _fill_table() -> None:
    this, hot = sys.modules[__name__], process_modes.hot_function
    recording, streams, anomaly, nan = Mode.RECORDING, Mode.STREAMS, Mode.ANOMALY, Mode.NAN_CHECK
    hot(this, "_run_task", {NO_MODE: _run_task, recording: recorded_task(_run_task)})
    hot(this, "_evaluate", {NO_MODE: _evaluate, streams: _evaluate_on_its_stream})
    hot(this, "_capture", {NO_MODE: _capture, recording: recorded_capture(_capture)})
    hot(this, "_call_function", {NO_MODE: _call_function, recording: recorded_call(_call_function)})
    hot(this, "_route", {NO_MODE: _route, anomaly: _route, nan: _route, anomaly | nan: _route_unless_nan})
    on_streams = {streams: engine_streams.add, streams | recording: engine_streams.add}
    hot(this, "_add", {NO_MODE: _add, recording: recorded_add, **on_streams})
    hot(GraphTask, "decrement", {NO_MODE: GraphTask.decrement, recording: recorded_decrement(GraphTask.decrement)})
    hot(ReadyQueue, "push", {NO_MODE: ReadyQueue.push, recording: recorded_push(ReadyQueue.push)})


_fill_table()
