"""Events of the engine: graph tasks, ready queues, the Nodes that run (``torch/csrc/autograd/engine.cpp``).

An input of a Node is given as (node, input_nr): the Node's number, and the index, from 0, of the gradient that it
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
"""Why a Node is not executed. ``topological_nr``: it is below the smallest of those requested, so that nothing behind
it is looked at. ``should_execute``: no edge leads on to what was requested."""


class BackwardStarted(Container, frozen=True):
    """``Engine::execute``; open until ``BackwardFinished``."""

    graph_task: GraphTaskNumber
    """Number of the graph task, from 0 per recording."""
    roots: tuple[tuple[NodeNumber, OutputNumber], ...]
    """(node, input_nr) per root."""
    gradients: tuple[TensorNumber | None, ...]
    """Tensor number of the gradient of each root; None if undefined."""
    keep_graph: bool
    """``retain_graph``: saved variables are not released."""
    create_graph: bool
    """Grad mode is on during the backward pass."""
    accumulate: bool
    """True for ``backward``, False for ``grad`` (``accumulate_grad``)."""
    depth: Count
    """Reentrant depth: how many backward passes this one runs within (``GraphTask::reentrant_depth_``)."""
    inputs: tuple[tuple[NodeNumber, OutputNumber], ...] = ()
    """(node, input_nr) of each gradient that was requested, by ``grad`` or ``backward(inputs=)``, in order; empty:
    everything runs."""
    input_tensors: tuple[TensorNumber | None, ...] = ()
    """Number of the tensor behind each of ``inputs``; None for a gradient edge."""


class DependenciesCounted(Event, frozen=True):
    """``compute_dependencies``: how many edges lead to each Node."""

    counts: tuple[tuple[NodeNumber, Count], ...]
    """Of each Node in order of discovery: Node number, number of edges; the root has no entry."""
    min_topo_nr: TopologicalNumber = 0
    """The smallest topological number among the Nodes that were requested: edges of a Node below it are not counted."""


class ExecInfoPopulated(Event, frozen=True):
    """``GraphTask::init_to_execute``: only some gradients were requested, so some Nodes need not run."""

    needed: tuple[NodeNumber, ...]
    """Numbers of the Nodes whose ``needed_`` is true: they run, unless nothing leads to them."""
    captures: tuple[tuple[NodeNumber, OutputNumber, Position], ...]
    """(node, input_nr, index): what ``grad`` takes out of a Node's input buffer, and its index in the result, from 0.
    """
    pruned: tuple[tuple[NodeNumber, PruneReason], ...]
    """Nodes that were found and do not execute: Node number, and the reason. ``topological_nr``: it is below the
    smallest of those requested, so that nothing behind it is looked at. ``should_execute``: no edge leads on to what
    was requested."""


class DependencyMet(Event, frozen=True):
    """An edge into a Node is done: its gradient arrived, defined or not (``GraphTask::dependencies_``)."""

    node: NodeNumber
    """Number of the Node."""
    left: Count
    """Number of edges whose gradient has not arrived; at 0 the Node is queued."""
    defined: bool = True
    """There was a gradient; an undefined one counts as well."""
    skipped: bool = False
    """``should_execute`` is false: its gradient is dropped, and the Node is never queued."""


class NodeQueued(Event, frozen=True):
    """A Node whose count reached zero was pushed to a ready queue (``ReadyQueue::push``)."""

    node: NodeNumber
    """Number of the Node."""
    sequence_nr: SequenceNumber
    """Its sequence number: the largest one is popped first."""
    device: str
    """Device of the queue: ``cpu`` or ``cuda:0``."""
    queue: tuple[tuple[NodeNumber, SequenceNumber], ...] | None = None
    """Node number and sequence number of each Node that is in the queue now, in the order in which they would be
    popped; None where that follows from what was pushed and popped before (``explain/graph/queued_nodes.py``), as it
    mostly does since format 3."""


class NodeSkipped(Event, frozen=True):
    """The engine popped a Node that is not ``needed_``: after its tensor pre hooks and captures it is not called."""

    node: NodeNumber
    """Number of the Node."""


class NodeStarted(Container, frozen=True):
    """The engine popped a Node and evaluates it (``Engine::evaluate_function``); open until ``NodeFinished``."""

    node: NodeNumber
    """Number of the Node."""
    name: str
    """``Node::name``: ``AddBackward0``."""
    sequence_nr: SequenceNumber
    """Its sequence number."""
    gradients: tuple[TensorNumber | None, ...]
    """Tensor number of each gradient that it receives; None if undefined."""
    waiting: tuple[tuple[NodeNumber, SequenceNumber], ...] | None
    """Node number and sequence number of each Node that is ready too and has to wait; None where that follows from what
    was pushed and popped before."""
    device: str
    """Device that it runs on (``Node::device``): ``cpu`` or ``cuda:0``."""
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
    """``task_should_compute_output`` is false: a Node does not compute a gradient, since this graph task does not need
    the Node that the edge leads to."""

    node: NodeNumber
    """Number of the Node that runs."""
    edge: EdgeNumber
    """Index of the edge among the Node's edges, from 0."""


class NodeFinished(Event, frozen=True):
    """The Node returned. ``parent`` is its ``NodeStarted``."""

    node: NodeNumber
    """Number of the Node."""
    gradients: tuple[TensorNumber | None, ...]
    """Tensor number of the gradient per edge; None if undefined."""


class AnomalyFound(Event, frozen=True):
    """Anomaly mode names the forward call that made the Node in which an error was raised
    (``torch/csrc/autograd/anomaly_mode.cpp``)."""

    node: NodeNumber
    """Number of the Node."""
    lines: str
    """The Python stack as it was when the Node was made, as ``traceback`` prints it; empty if anomaly mode was off
    then."""


class VariablesReleased(Event, frozen=True):
    """The graph is not kept: a Node dropped its saved variables (``Node::release_variables``)."""

    node: NodeNumber
    """Number of the Node."""


class FinalCallbackQueued(Event, frozen=True):
    """``Engine::queue_callback``: something is to run when the graph task is complete."""

    graph_task: GraphTaskNumber
    """Number of the graph task."""
    function: str
    """Name of the callback."""
    position: Position
    """Its index among the callbacks of the graph task, from 0: their order."""


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
