"""The stream that a Node runs on, and the waits between streams in a pass, as far as they are recorded.

Streaming backwards (``torch/csrc/autograd/engine.cpp``, ``input_buffer.cpp``): a Node runs on the stream that was
current in its forward call (``Node::stream``). A gradient from another stream is followed by an event, and the stream
of the sum or of the Node waits for it. At the end the caller's streams wait for the streams that wrote gradients of
leaves.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import islice

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backwards import Backward


class NodeStreams(Struct, frozen=True):
    """The streams of a pass at a step."""

    current: int | None
    """The stream that the Node runs on. None if it is not on an accelerator, or if no Node runs."""
    changed: int | None
    """The step that made the stream current. None if it was current from the beginning."""
    waits: tuple[ev.StreamWaited, ...]
    """The waits of this pass, latest first."""
    number: int
    """The number of waits."""


def node_streams(trace: Trace, backward: Backward, node: ev.NodeStarted | None, at: int, most: int) -> NodeStreams:
    """Return the streams of a pass at a step. At most ``most`` waits are read."""
    waited = [step for step in backward.steps(ev.StreamWaited) if step <= at]
    events = (trace[step] for step in reversed(waited))
    found = islice((event for event in events if isinstance(event, ev.StreamWaited)), most)
    current, changed = _current(trace, node) if node is not None and node.device.startswith("cuda") else (None, None)
    return NodeStreams(current, changed, tuple(found), len(waited))


def _current(trace: Trace, node: ev.NodeStarted) -> tuple[int, int | None]:
    """Return the stream that was made current last before a Node started."""
    steps = trace.steps_of(ev.StreamChanged)
    place = bisect_right(steps, node.seq)
    event = trace[steps[place - 1]] if place else None
    return (event.stream, event.seq) if isinstance(event, ev.StreamChanged) else (0, None)
