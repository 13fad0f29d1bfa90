"""A Node of the backward graph as a value, built from its events in the trace.

``backward_graph.py`` decides which Nodes make a graph, and ``graph_history.py`` the order of their changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import Awaits, Entry, Mark
from dispatchviz.explain.trace_index.display_names import node_title, plain_node, tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.explain.trace_index.trace_index import index

TensorAt = tuple[int, int]
"""A tensor, and the step at which a Node got it."""

NO_NUMBER = 2**64 - 1
"""The sequence number of an AccumulateGrad."""


class State(Enum):
    """The progress of the engine with a Node. The values are its labels."""

    CREATED = "not run"
    WAITING = "waiting"
    QUEUED = "queued"
    """The Node has all gradients that it waits for. A Node whose gradient is only captured is queued for that."""
    PRUNED = "not needed"
    """The backward pass computes only some gradients, and this Node leads to none of them, so it does not run."""
    RUNNING = "running"
    DONE = "done"
    RELEASED = "done, freed"
    """The Node has released its saved variables."""
    CAPTURED = "gradient captured, not run"
    FAILED = "raised an error"


def after_error(state: State) -> State:
    """Return the state of a Node after an exception ended its backward pass: it no longer waits."""
    return State.CREATED if state in (State.WAITING, State.QUEUED) else state


class GraphTensor(Struct, frozen=True):
    """A tensor that belongs to a Node."""

    number: int
    name: str
    """The user's name of the tensor, or its number: ``x``, ``t5``."""
    shape: tuple[int, ...] | None
    """None if the trace does not have it."""
    dtype: str
    """``torch.float32``."""
    device: str


class GraphEdge(Struct, frozen=True):
    """The destination of one output of a Node. Its position in the Node's ``edges`` is the number of that output."""

    target: int | None
    """None for an empty edge, whose gradient is not needed."""
    input_nr: int
    """The input of the target; 0 for an empty edge."""
    argument: str
    """The forward argument of the edge, for example ``self``; empty if unknown."""
    tensor: str
    """The tensor passed for that argument; empty if unknown."""


class SavedTensor(Struct, frozen=True):
    """A tensor that a Node saved for its formula."""

    name: str
    """``self``, ``result``."""
    tensor: GraphTensor | None
    """None for an undefined tensor."""
    version: int
    is_output: bool


class GraphNode(Struct, frozen=True):
    """A backward Node."""

    number: int
    name: str
    """``AddBackward0``; handwritten ones without the namespace, ``AccumulateGrad``."""
    sequence_nr: int
    topological_nr: int
    edges: tuple[GraphEdge, ...]
    inputs: tuple[GraphTensor | None, ...]
    """The forward outputs whose gradients it receives, by input_nr. None where the trace does not have one."""
    attributes: tuple[tuple[str, str], ...]
    variables: tuple[SavedTensor, ...]
    leaf: GraphTensor | None
    """The leaf of an AccumulateGrad."""
    device: str
    """The device whose queue it waits in, for example ``cuda:0``; empty until its first input is known."""
    state: State
    released: bool
    """True if its saved tensors have been released."""
    left: int
    """The number of gradients that have not arrived, while it waits."""
    order: int | None
    """Its position in the order in which the engine ran the Nodes, from 1. None before it ran."""
    made: int
    """The step at which it was constructed."""
    line: int
    """The line of the program that made it; 0 if unknown."""
    parent: tuple[int, str] | None
    """In anomaly mode, the number and title of the Node that was running when it was made."""

    @property
    def title(self) -> str:
        """``AddBackward0``, ``AccumulateGrad (x)``."""
        return f"{self.name} ({self.leaf.name})" if self.leaf else self.name

    @property
    def number_text(self) -> str:
        """The sequence number, or ``max`` for an AccumulateGrad."""
        return "max" if self.sequence_nr == NO_NUMBER else str(self.sequence_nr)


Order = Callable[[int], int | None]
"""The position of a NodeStarted in its backward pass, by ``seq``."""

MOST_INPUTS = 1024
"""The largest number of inputs that are listed, because input numbers may have gaps of any size."""


def graph_node(trace: Trace, number: int, entries: Sequence[Entry], at: int, order: Order) -> GraphNode:
    """Return the Node after its entries, with the names as of step ``at``."""
    life = _Life(order)
    for _, event in entries:
        life.follow(event)
    return life.node(trace, number, max(at, 0))


class _Life:
    """The state of a Node after the events read so far."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._created: ev.NodeCreated | None = None
        self._name, self._sequence_nr, self._topological_nr, self._device = "", 0, 0, ""
        self._edges: ev.EdgesCollected | None = None
        self._attributes: dict[str, str] = {}
        self._variables: dict[str, ev.VariableSaved] = {}
        self._outputs: dict[int, TensorAt] = {}
        self._leaf: TensorAt | None = None
        self._state, self._left = State.CREATED, 0
        self._started: int | None = None
        """The step at which it ran, in the latest backward pass that reached it."""
        self._released = False
        self._parent: int | None = None

    def follow(self, event: ev.AnyEvent | Awaits | Mark) -> None:
        """Apply the next entry."""
        if isinstance(event, Awaits):
            self._state, self._left, self._started = State.WAITING, event.gradients, None
        elif event is Mark.DONE:
            self._state = State.DONE
        elif event is Mark.FAILED:
            self._state = State.FAILED
        elif event is Mark.LEFT:
            self._state = after_error(self._state)
        elif event is Mark.PRUNED:
            self._state, self._started = State.PRUNED, None
        else:
            self._follow_forward(event)
            self._follow_engine(event)

    def _follow_forward(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.NodeCreated():
                self._created, self._name, self._sequence_nr = event, event.name, event.sequence_nr
                self._topological_nr = event.topological_nr
            case ev.EdgesCollected():
                self._edges, self._topological_nr = event, event.topological_nr
            case ev.SequenceNumberSet():
                self._sequence_nr = event.sequence_nr
            case ev.ParentAssigned():
                self._parent = event.parent_node
            case ev.AttributeSaved():
                self._attributes[event.name] = event.value
            case ev.VariableSaved():
                self._variables[event.name] = event
            case ev.AccumulatorMade():
                self._leaf = self._outputs[0] = event.tensor, event.seq
            case ev.HistorySet() | ev.HistoryRebased():
                self._outputs[event.output_nr] = event.tensor, event.seq

    def _follow_engine(self, event: ev.AnyEvent) -> None:
        """Apply an event of the engine. A Node that has run starts again when another backward pass reaches it."""
        match event:
            case ev.DependencyMet():
                self._left = event.left
            case ev.NodeSkipped() if self._state is not State.CAPTURED:
                self._state = State.PRUNED
            case ev.NodeQueued():
                self._state, self._device, self._started = State.QUEUED, event.device, None
            case ev.NodeStarted():
                self._state, self._device, self._started = State.RUNNING, event.device, event.seq
                if self._created is None:
                    self._name, self._sequence_nr = event.name, event.sequence_nr
            case ev.NodeFinished():
                self._state = State.RELEASED if self._released else State.DONE
            case ev.GradientCaptured():
                self._state = State.CAPTURED
            case ev.VariablesReleased():
                self._released = True

    def _place(self) -> int | None:
        return None if self._started is None else self._order(self._started)

    def node(self, trace: Trace, number: int, at: int) -> GraphNode:
        """Return the value, with the names as of step ``at``."""
        inputs = _inputs(trace, self._outputs, at)
        made = self._created
        line = around(trace, made.seq, ev.SourceLine) if made else None
        return GraphNode(
            number=number,
            name=plain_node(self._name) or "Node",
            sequence_nr=self._sequence_nr,
            topological_nr=self._topological_nr,
            edges=_edges(trace, self._edges, at),
            inputs=inputs,
            attributes=tuple(self._attributes.items()),
            variables=tuple(_saved(trace, event, at) for event in self._variables.values()),
            leaf=None if self._leaf is None else graph_tensor(trace, *self._leaf, at),
            device=self._device or _device(inputs),
            state=self._state,
            released=self._released,
            left=self._left if self._state is State.WAITING else 0,
            order=self._place(),
            made=made.seq if made else 0,
            line=line.line if line else 0,
            parent=None if self._parent is None else (self._parent, node_title(trace, self._parent, at)),
        )


def graph_tensor(trace: Trace, number: int, since: int, at: int) -> GraphTensor:
    """Return a tensor by its name at step ``at``, with the shape that it had at step ``since``."""
    name, made = tensor_name(trace, number, at), index(trace).tensors.get(number)
    if made is None:
        return GraphTensor(number, name, None, "", "")
    return GraphTensor(number, name, index(trace).shape(number, since), made.dtype, made.device)


def _inputs(trace: Trace, outputs: dict[int, TensorAt], at: int) -> tuple[GraphTensor | None, ...]:
    found = (outputs.get(place) for place in range(min(max(outputs, default=-1) + 1, MOST_INPUTS)))
    return tuple(None if tensor is None else graph_tensor(trace, *tensor, at) for tensor in found)


def _device(inputs: Iterable[GraphTensor | None]) -> str:
    """Return the first device that is not the CPU. Meta tensors wait in the CPU's queue too."""
    devices = [tensor.device for tensor in inputs if tensor]
    return next((device for device in devices if device not in ("cpu", "meta")), "cpu" if devices else "")


def _edges(trace: Trace, event: ev.EdgesCollected | None, at: int) -> tuple[GraphEdge, ...]:
    if event is None:
        return ()
    behind = event.inputs if len(event.inputs) == len(event.edges) else (("", None),) * len(event.edges)
    return tuple(
        GraphEdge(
            target=edge[0] if edge else None,
            input_nr=edge[1] if edge else 0,
            argument=argument,
            tensor="" if tensor is None else tensor_name(trace, tensor, at),
        )
        for edge, (argument, tensor) in zip(event.edges, behind, strict=True)
    )


def _saved(trace: Trace, event: ev.VariableSaved, at: int) -> SavedTensor:
    tensor = None if event.tensor is None else graph_tensor(trace, event.tensor, event.seq, at)
    return SavedTensor(event.name, tensor, event.version, event.is_output)
