"""Events of the engine: graph tasks, ready queues, the Nodes that run (``torch/csrc/autograd/engine.cpp``).

An input of a Node is a pair (node, input_nr): the Node's number, and the index, from 0, of the gradient that it
receives.
"""

from __future__ import annotations

from typing import Literal

from dispatchviz.core.record.events.event import Container, Event
from dispatchviz.core.record.events.field_types import (
    Count,
    EdgeNumber,
    GraphTaskNumber,
    LineNumber,
    NodeNumber,
    OutputNumber,
    Position,
    SequenceNumber,
    TensorNumber,
    TopologicalNumber,
)

PruneReason = Literal["topological_nr", "should_execute"]
"""The reason why a Node is not executed. ``topological_nr``: its number is below the smallest one of the requested
Nodes, so the Nodes after it are not examined. ``should_execute``: no edge leads on to a requested Node.
"""


class BackwardStarted(Container, frozen=True):
    """``Engine::execute`` runs. The event is open until ``BackwardFinished``."""

    graph_task: GraphTaskNumber
    """Number of the graph task, from 0 per recording."""
    roots: tuple[tuple[NodeNumber, OutputNumber], ...]
    """A pair (node, input_nr) per root."""
    gradients: tuple[TensorNumber | None, ...]
    """Tensor number of the gradient of each root; None if undefined."""
    keep_graph: bool
    """The argument ``retain_graph``: if true, saved variables are not released."""
    create_graph: bool
    """True if grad mode is on during the backward pass."""
    accumulate: bool
    """True for ``backward``, False for ``grad`` (``accumulate_grad``)."""
    depth: Count
    """Reentrant depth: the number of backward passes around this one (``GraphTask::reentrant_depth_``)."""
    inputs: tuple[tuple[NodeNumber, OutputNumber], ...] = ()
    """A pair (node, input_nr) for each gradient that was requested, by ``grad`` or ``backward(inputs=)``, in order.
    Empty: everything runs.
    """
    input_tensors: tuple[TensorNumber | None, ...] = ()
    """Number of the tensor behind each of ``inputs``; None for a gradient edge."""


class DependenciesCounted(Event, frozen=True):
    """The number of edges that lead to each Node was counted (``compute_dependencies``)."""

    counts: tuple[tuple[NodeNumber, Count], ...]
    """For each Node in order of discovery: Node number, number of edges. The root has no entry."""
    min_topo_nr: TopologicalNumber = 0
    """The smallest topological number among the requested Nodes. Edges of a Node below it are not counted."""


class ExecInfoPopulated(Event, frozen=True):
    """Some Nodes need not run, since only some gradients were requested (``GraphTask::init_to_execute``)."""

    needed: tuple[NodeNumber, ...]
    """Numbers of the Nodes whose ``needed_`` is true. They run, unless no gradient reaches them."""
    captures: tuple[tuple[NodeNumber, OutputNumber, Position], ...]
    """Triples (node, input_nr, index): the input whose gradient ``grad`` captures, and the index in the result, from
    0.
    """
    pruned: tuple[tuple[NodeNumber, PruneReason], ...]
    """Number and reason of each Node that was found and does not execute. ``topological_nr``: its number is below the
    smallest one of the requested Nodes, so the Nodes after it are not examined. ``should_execute``: no edge leads on to
    a requested Node.
    """


class DependencyMet(Event, frozen=True):
    """An edge into a Node is done: its gradient arrived, defined or not (``GraphTask::dependencies_``)."""

    node: NodeNumber
    """Number of the Node."""
    left: Count
    """Number of edges whose gradient has not arrived. At 0 the Node is queued."""
    defined: bool = True
    """True if there was a gradient. An undefined one counts as well."""
    skipped: bool = False
    """True if ``should_execute`` is false: the gradient is dropped, and the Node is never queued."""


class NodeQueued(Event, frozen=True):
    """A Node whose count reached zero was pushed to a ready queue (``ReadyQueue::push``)."""

    node: NodeNumber
    """Number of the Node."""
    sequence_nr: SequenceNumber
    """Its sequence number. The largest one is popped first."""
    device: str
    """Device of the queue: ``cpu`` or ``cuda:0``."""
    queue: tuple[tuple[NodeNumber, SequenceNumber], ...] | None = None
    """Node number and sequence number of each Node in the queue, in the order in which they would be popped. None if
    earlier pushes and pops determine it (``explain/graph/queued_nodes.py``), which is usual since format 3.
    """


class NodeSkipped(Event, frozen=True):
    """The engine popped a Node that is not ``needed_``. After its tensor pre hooks and captures it is not called."""

    node: NodeNumber
    """Number of the Node."""


class NodeStarted(Container, frozen=True):
    """The engine popped a Node and evaluates it (``Engine::evaluate_function``). The event is open until
    ``NodeFinished``.
    """

    node: NodeNumber
    """Number of the Node."""
    name: str
    """``Node::name``: ``AddBackward0``."""
    sequence_nr: SequenceNumber
    """Its sequence number."""
    gradients: tuple[TensorNumber | None, ...]
    """Tensor number of each gradient that it receives; None if undefined."""
    waiting: tuple[tuple[NodeNumber, SequenceNumber], ...] | None
    """Node number and sequence number of each other Node that is ready and must wait. None if earlier pushes and pops
    determine it.
    """
    device: str
    """Device on which it runs (``Node::device``): ``cpu`` or ``cuda:0``."""
    thread: str
    """The thread that runs it in PyTorch: ``pt_autograd_0`` for cuda:0, ``caller`` for the CPU."""
    file: str
    """The Python file of its formula: relative to this package (``core/generated/nodes.py``), or the user's; empty if
    none."""
    line: LineNumber
    """First line of the formula in ``file``, from 1; 0 if none."""
    end_line: LineNumber
    """Last line of the formula in ``file``; 0 if none."""


class FormulaSkipped(Event, frozen=True):
    """A Node does not compute a gradient, since this graph task does not need the Node to which the edge leads
    (``task_should_compute_output`` is false).
    """

    node: NodeNumber
    """Number of the Node that runs."""
    edge: EdgeNumber
    """Index of the edge among the Node's edges, from 0."""


class NodeFinished(Event, frozen=True):
    """The Node returned. ``parent`` is its ``NodeStarted``."""

    node: NodeNumber
    """Number of the Node."""
    gradients: tuple[TensorNumber | None, ...]
    """Tensor number of the gradient of each edge; None if undefined."""


class AnomalyFound(Event, frozen=True):
    """Anomaly mode reports the forward call that created the Node in which an error was raised
    (``torch/csrc/autograd/anomaly_mode.cpp``).
    """

    node: NodeNumber
    """Number of the Node."""
    lines: str
    """The Python stack at the creation of the Node, as ``traceback`` prints it; empty if anomaly mode was off then."""


class VariablesReleased(Event, frozen=True):
    """A Node dropped its saved variables, because the graph is not kept (``Node::release_variables``)."""

    node: NodeNumber
    """Number of the Node."""


class FinalCallbackQueued(Event, frozen=True):
    """A callback to run when the graph task is complete was queued (``Engine::queue_callback``)."""

    graph_task: GraphTaskNumber
    """Number of the graph task."""
    function: str
    """Name of the callback."""
    position: Position
    """Its index among the callbacks of the graph task, from 0, which is their order."""


class FinalCallbackCalled(Event, frozen=True):
    """A final callback is about to run (``GraphTask::exec_post_processing``)."""

    graph_task: GraphTaskNumber
    """Number of the graph task."""
    function: str
    """Name of the callback."""
    position: Position
    """Its index, as in its ``FinalCallbackQueued``."""


class BackwardFinished(Event, frozen=True):
    """The graph task is complete. ``parent`` is its ``BackwardStarted``."""

    graph_task: GraphTaskNumber
    """Number of the graph task, as in its ``BackwardStarted``."""
