"""Texts about a Node in pictures and lanes: state, forward call, hooks, view, memory.

These are looked up when a box is drawn. ``graph_node.py`` has the facts that the engine's state depends on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import BackwardGraph
from dispatchviz.explain.graph.graph_node import GraphNode, GraphTensor, State
from dispatchviz.explain.graph.memory.storage_sizes import memories
from dispatchviz.explain.graph.node.node_hooks import hooks_of
from dispatchviz.explain.things.crossing import maker_of
from dispatchviz.explain.trace_index.display_names import plain_node, tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import around, source_line
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import nth, plain_dtype, shaped


class Made(Struct, frozen=True):
    """The place in the forward pass where a Node was made."""

    step: int
    """The step of the innermost call around it, or of its creation."""
    operator: str
    """The operator, such as ``aten::add.Tensor``, or the name of a Function or binding; empty without a call."""
    file: str
    line: int
    """The line number; 0 if unknown."""

    @property
    def place(self) -> str:
        """The file and line, such as ``forum.py:6``; empty if unknown."""
        return f"{self.file}:{self.line}" if self.line else ""


class Hook(Struct, frozen=True):
    """A hook of a Node."""

    kind: ev.HookKind
    function: str
    tensor: str
    """The tensor that it was registered on; empty for a Node's own hooks."""


def made_at(trace: Trace, node: int) -> Made | None:
    """Return the call and the line that made a Node, or None if the recording does not have them."""
    made = index(trace).nodes.get(node)
    if made is None or made.known:
        return None
    call, line = maker_of(trace, made), source_line(trace, made.seq)
    return Made(call.seq, _called(call), line.file if line else "", line.line if line else 0)


def _called(call: ev.AnyEvent) -> str:
    if isinstance(call, ev.Dispatched):
        return call.operator
    return call.function if isinstance(call, ev.FunctionEntered | ev.BindingEntered) else ""


def hooks(trace: Trace, node: GraphNode, at: int) -> Iterator[Hook]:
    """Yield the hooks of a Node at a step, in the order in which they run."""
    for event in hooks_of(trace, node.number, node.leaf.number if node.leaf else None, at):
        yield Hook(event.kind, event.function, "" if event.tensor is None else tensor_name(trace, event.tensor, at))


def view_text(trace: Trace, node: GraphNode, at: int) -> str:
    """Return a Node's relation to views: ``makes b, a view of a``, ``writes into part of a``; empty if it has none."""
    if node.name == "CopySlices":
        base = next((tensor.name for tensor in node.inputs if tensor), "a tensor")
        return f"in place on a view of {base}{_wrapped(trace, node.number)}"
    views = index(trace).views
    for tensor in filter(None, node.inputs):
        view = views.get(tensor.number)
        if view is not None and view.seq <= at:
            return f"{tensor.name} is a view of {tensor_name(trace, view.base, at)}"
    return ""


def _wrapped(trace: Trace, node: int) -> str:
    """Return the Node of the in-place operation itself, which CopySlices keeps: the one that its kernel made before
    it.
    """
    made = index(trace).nodes.get(node)
    if made is None or made.parent is None:
        return ""
    before = [trace[step] for step in trace.columns.children(made.parent) if step < made.seq]
    own = [e for e in before if isinstance(e, ev.NodeCreated) and e.node not in index(trace).accumulators]
    return f", by {plain_node(own[-1].name)}" if own else ""


def made_in(trace: Trace, node: int) -> int | None:
    """Return the Node that was running when a Node was made, as in a double backward. None outside backward passes."""
    made = index(trace).nodes.get(node)
    running = None if made is None else around(trace, made.seq, ev.NodeStarted)
    return running.node if running is not None and running.node != node else None


def made_during(trace: Trace, node: int) -> ev.BackwardStarted | None:
    """Return the backward pass during which a Node was made."""
    made = index(trace).nodes.get(node)
    return None if made is None else around(trace, made.seq, ev.BackwardStarted)


def saved_bytes(trace: Trace, nodes: Iterable[GraphNode]) -> tuple[int, int, bool]:
    """Return the memory of the tensors that some Nodes save: bytes, number of memories, and whether all of it is freed.

    Each memory counts once, even if several Nodes save tensors on it.
    """
    kept, freed = dict[int, int](), dict[int, int]()
    for node in nodes:
        found = memories(trace, (saved.tensor.number for saved in node.variables if saved.tensor))
        (freed if node.released else kept).update(found)
    shown = kept or freed
    return sum(shown.values()), len(shown), bool(freed) and not kept


def state_text(graph: BackwardGraph, node: GraphNode) -> str:
    """Return the state, such as ``2nd: done`` or ``waits for 2``; empty while no backward pass has started on the
    graph.
    """
    order = f"{nth(node.order)}: " if node.order else ""
    if node.state is State.WAITING:
        return f"waits for {node.left}" if node.left else "has all it waits for"
    if node.state is State.CREATED and graph.graph_task is None:
        return ""
    return f"{order}{node.state.value}"


def described(tensor: GraphTensor) -> str:
    """Return shape, dtype and device: ``[2, 2] float32 cuda:0``."""
    shape = "" if tensor.shape is None else shaped(tensor.shape)
    return " ".join(part for part in (shape, plain_dtype(tensor.dtype), tensor.device) if part)
