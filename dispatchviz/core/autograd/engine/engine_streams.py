"""CUDA streams in a backward pass: which stream waits for which (``engine.cpp``, ``input_buffer.cpp``, "Streaming
backwards").

A Node runs on the stream on which its forward operator ran, and its gradients are ready there. If a gradient goes to a
Node of another stream, an event is recorded after it, and the other stream waits for that event: before a sum if there
is one, otherwise before the Node. At the end the caller's stream waits for the streams of the leaves.

No function here is called before a program has a second stream.
NB: there is one device here, so the stream of a sum is always the receiving Node's. In PyTorch it may also be the
producer's or that of a third device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatchviz.core.autograd.engine import input_buffer
from dispatchviz.core.device import streams
from dispatchviz.core.device.streams import Event, Stream, StreamGuard
from dispatchviz.core.thread import warning

if TYPE_CHECKING:
    from dispatchviz.core.autograd.engine.graph_task import Buffer, GraphTask
    from dispatchviz.core.autograd.graph.node import Node
    from dispatchviz.core.tensor.tensor import Tensor

warn_on_accumulate_grad_stream_mismatch = True
"""The setting ``Context::warnOnAccumulateGradStreamMismatch``."""

_MISMATCH = (
    "The AccumulateGrad node's stream does not match the stream of the node that produced the incoming gradient. This "
    "may incur unnecessary synchronization and break CUDA graph capture if the AccumulateGrad node's stream is the "
    "default stream. This mismatch is caused by an AccumulateGrad node created prior to the current iteration being "
    "kept alive. This can happen if the autograd graph is still being kept alive by tensors such as the loss, or if "
    "you are using DDP, which will stash a reference to the node. To resolve the mismatch, delete all references to "
    "the autograd graph or ensure that DDP initialization is performed under the same stream as subsequent forwards. "
    "If the mismatch is intentional, you can use "
    "torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False) to suppress this warning."
)


class Ready:
    """The stream and the event of the gradient in one slot of a buffer."""

    __slots__ = ("event", "stream")

    def __init__(self, stream: Stream, event: Event | None) -> None:
        self.stream = stream
        self.event = event


class Tracking:
    """The streams of a graph task."""

    __slots__ = ("caller", "leaves", "ready")

    def __init__(self) -> None:
        self.caller = streams.current()
        self.leaves: list[Stream] = []
        self.ready: dict[tuple[Node, int], Ready] = {}


def of(task: GraphTask) -> Tracking:
    """Return the streams of a task. A task that began before there was a second stream gets them now."""
    if task.streams is None:
        task.streams = Tracking()
    return task.streams


def add(task: GraphTask, buffer: Buffer, position: int, gradient: Tensor | None, node: Node) -> None:
    """Add a gradient that is ready on the current stream to the buffer of ``node`` (``InputBuffer::add``)."""
    if gradient is None or gradient._device.type != "cuda":
        input_buffer.add(buffer, position, gradient, node)
        return
    producer, consumer = streams.current(), type(node).stream(node) or streams.current()
    if producer is not consumer:
        _warn(node)
    ready = of(task).ready
    known = ready.get((node, position))
    if known is None:
        ready[node, position] = _first(gradient, producer, consumer)
        input_buffer.add(buffer, position, gradient, node)
    else:
        _before_sum(known, buffer, position, gradient, producer, consumer)
        with StreamGuard(consumer, f"the sum for {type(node).name(node)}"):
            input_buffer.add(buffer, position, gradient, node)
        known.stream = consumer


def _first(gradient: Tensor, producer: Stream, consumer: Stream) -> Ready:
    if producer is consumer:
        return Ready(producer, None)
    streams.record_stream(gradient, consumer, "the Node that receives it runs there")
    event = Event()
    event.record(producer, "the gradient is ready")
    return Ready(producer, event)


def _before_sum(
    known: Ready, buffer: Buffer, position: int, gradient: Tensor, producer: Stream, consumer: Stream
) -> None:
    """Make both summands ready on the stream of the sum."""
    if producer is not consumer:
        event = Event()
        event.record(producer, "the gradient is ready")
        consumer.wait(event, "the sum needs the new gradient")
        streams.record_stream(gradient, consumer, "the sum runs there")
    if known.stream is not consumer:
        assert known.event is not None
        consumer.wait(known.event, "the sum needs the earlier gradient")
        streams.record_stream(buffer[position], consumer, "the sum runs there")


def _warn(node: Node) -> None:
    from dispatchviz.core.autograd.graph.accumulate_grad import AccumulateGrad

    if isinstance(node, AccumulateGrad) and warn_on_accumulate_grad_stream_mismatch and warning.first_time("stream"):
        with warning.as_python():
            warning.warn(_MISMATCH, "torch/csrc/autograd/input_buffer.cpp:240")


def wait_for_inputs(task: GraphTask, node: Node, buffer: Buffer) -> None:
    """Make the current stream, which is the Node's, wait for gradients of other streams before the Node runs."""
    for position in range(len(buffer)):
        ready = of(task).ready.pop((node, position), None)
        if ready is not None and ready.stream is not streams.current():
            assert ready.event is not None
            streams.current().wait(ready.event, f"{type(node).name(node)} needs the gradient")


def leaf_done(task: GraphTask, stream: Stream | None) -> None:
    """Note that a Node without further edges, or a captured gradient, leaves its result on ``stream``."""
    leaves = of(task).leaves
    if stream is not None and stream not in leaves:
        leaves.append(stream)


def join_leaves(task: GraphTask) -> None:
    """Make the caller's stream wait for all streams on which results were left."""
    tracking = of(task)
    for leaf in tracking.leaves:
        if leaf is not tracking.caller:
            event = Event()
            event.record(leaf, "the gradients of its leaves are ready")
            tracking.caller.wait(event, "the caller of backward may use the gradients")
