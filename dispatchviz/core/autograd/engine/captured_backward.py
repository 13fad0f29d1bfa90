"""A captured backward pass that can be run again with other saved tensors, as compiled autograd does.

It mirrors ``torch/csrc/dynamo/python_compiled_autograd.cpp``, without a compiler. PyTorch traces the pass into a graph
of calls and compiles it. Here the capture is the list of Nodes in the order in which the engine runs them.

Rule 1: capturing runs nothing. Its only effect is that the Nodes are marked as having a parent.
Rule 2: a replay calls every Node's ``apply_with_saved``. Hooks run, and gradients are summed, checked and accumulated
as in a backward.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec import Struct

from dispatchviz.core.autograd.engine import input_buffer, node_heap
from dispatchviz.core.autograd.engine.compiled_autograd import CompiledNodeArgs, SwapSavedVariables
from dispatchviz.core.autograd.engine.graph_task import Buffer, GraphTask
from dispatchviz.core.autograd.engine.ready_queue import NodeTask, lower
from dispatchviz.core.autograd.engine.validate_outputs import validate_outputs
from dispatchviz.core.autograd.graph.basic_nodes import GraphRoot
from dispatchviz.core.autograd.graph.edge import Edge
from dispatchviz.core.autograd.graph.node import Gradients, Node
from dispatchviz.core.autograd.hooks.hooks import run_post_hooks, run_pre_hooks, run_tensor_pre_hooks
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.guards import AutoGradMode
from dispatchviz.core.thread.thread_state import thread


class _Step(Struct, frozen=True):
    """A Node, and the range of its own tensors."""

    node: Node
    start: int
    stop: int


class CapturedBackward(Struct, frozen=True):
    """A captured backward from ``roots``."""

    roots: tuple[Edge, ...]
    steps: tuple[_Step, ...]
    tensors: tuple[Tensor | None, ...]
    """The tensors that the Nodes had saved when it was captured."""
    key: tuple[Hashable, ...]
    """A key that is equal for backwards that differ only in their tensors. Any of them can be replayed with the tensors
    of another.
    """

    def replay(self, gradients: Gradients, tensors: Sequence[Tensor | None]) -> None:
        """Run it, with one gradient per root and one tensor per captured tensor.

        Raise ValueError for another number of tensors, RuntimeError for gradients that do not fit. Exceptions of Nodes
        are passed on.
        """
        if len(tensors) != len(self.tensors):
            raise ValueError("a replayed backward needs as many saved tensors as were captured")
        given = list(gradients)
        validate_outputs(self.roots, given, None)
        buffers: dict[Node, Buffer] = {}
        outer = thread.state.current_node
        try:
            with AutoGradMode(False, "a replayed backward"):
                _deliver(buffers, self.roots, given)
                for step in self.steps:
                    thread.state.current_node = step.node
                    saved = SwapSavedVariables(tensors[step.start : step.stop])
                    _deliver(buffers, step.node.next_edges, _run(step.node, buffers.pop(step.node), saved))
        finally:
            thread.state.current_node = outer


def capture(roots: Sequence[Edge]) -> CapturedBackward:
    """Capture the backward from ``roots``.

    Raise RuntimeError if something in it was released, NotImplementedError for a Node that cannot be captured.
    """
    args, steps = CompiledNodeArgs(), []
    order = execution_order(roots)
    numbers = {node: number for number, node in enumerate(order)}
    for node in order:
        start = len(args.tensors)
        node.compiled_args(args)
        args.key.append(
            tuple([(None if e.function is None else numbers[e.function], e.input_nr) for e in node.next_edges])
        )
        steps.append(_Step(node, start, len(args.tensors)))
    return CapturedBackward(tuple(roots), tuple(steps), tuple(args.tensors), tuple(args.key))


def execution_order(roots: Sequence[Edge]) -> list[Node]:
    """Return the Nodes below ``roots`` in the order in which the engine would run them. A GraphRoot is left out."""
    first = roots[0].function
    assert first is not None, "a root leads to a Node"
    root = first if len(roots) == 1 else GraphRoot(list(roots), [None] * len(roots))
    task, queue = GraphTask(True, False, 0), list[NodeTask]()  # a queue that belongs to no thread and is not recorded
    task.compute_dependencies(root, 0)
    node_heap.push(queue, NodeTask(task, root, []), lower)
    order = []
    while queue:
        node = node_heap.pop(queue, lower).node
        order.append(node)
        for edge in node.next_edges:
            if edge.function is not None:
                task.dependencies[edge.function] -= 1
                if not task.dependencies[edge.function]:
                    node_heap.push(queue, NodeTask(task, edge.function, []), lower)
    return order if len(roots) == 1 else order[1:]


def _run(node: Node, inputs: Buffer, saved: SwapSavedVariables) -> Gradients:
    run_tensor_pre_hooks(node, inputs)
    run_pre_hooks(node, inputs)
    outputs = node.apply_with_saved(inputs.copy(), saved)
    validate_outputs(node.next_edges, outputs, node)
    if node.hooks is not None and node.hooks.post is not None:
        run_post_hooks(node, node.hooks.post, outputs, inputs)
    return outputs


def _deliver(buffers: dict[Node, Buffer], edges: Sequence[Edge], gradients: Gradients) -> None:
    for edge, gradient in zip(edges, gradients, strict=True):
        if edge.function is not None:
            buffer = buffers.setdefault(edge.function, [None] * len(edge.function.input_metadata))
            input_buffer.add(buffer, edge.input_nr, gradient, edge.function)
