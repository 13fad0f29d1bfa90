"""GraphTask and ExecInfo: one execution of the engine, with its dependencies, Nodes to run, and gradients to capture.

This module mirrors ``torch/csrc/autograd/graph_task.h`` and the discovery functions of ``engine.cpp``. The loop that
uses it is in ``engine.py``.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from dispatchviz.core.autograd.hooks.hooks import recorded_name
from dispatchviz.core.seam import recorder
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.autograd.engine.engine_streams import Tracking
    from dispatchviz.core.autograd.graph.edge import Edge
    from dispatchviz.core.autograd.graph.node import Node
    from dispatchviz.core.tensor.tensor import Tensor

GONE = sys.maxsize
"""The depth of a task whose graph task is gone. These leftovers of a failed backward are popped first, and skipped."""

Buffer = list["Tensor | None"]
"""An ``InputBuffer``: one slot per input of a Node."""


class ExecInfo:
    """The work at one Node when only some gradients are requested."""

    __slots__ = ("captures", "needed")

    needed: bool
    """True if the Node runs."""
    captures: list[tuple[int, int]]
    """Pairs (input of the Node, position in the result) of the gradients that ``grad`` captures from its buffer."""

    def __init__(self) -> None:
        self.needed = False
        self.captures = []

    @property
    def should_execute(self) -> bool:
        """True if the engine must reach the Node."""
        return self.needed or bool(self.captures)


class GraphTask:
    """The state of one ``backward`` or ``grad``."""

    __slots__ = (
        "captured",
        "dependencies",
        "excluded",
        "exec_info",
        "final_callbacks",
        "grad_mode",
        "id",
        "included",
        "inference_mode",
        "keep_graph",
        "min_topological_nr",
        "nodes",
        "not_ready",
        "outstanding",
        "reentrant_depth",
        "root",
        "streams",
        "warnings",
    )

    grad_mode: bool
    """The argument ``create_graph``: formulas, hooks and accumulation run in this mode."""
    outstanding: int
    """The number of tasks that are queued and not finished."""
    dependencies: dict[Node, int]
    """The number of edges that have not delivered yet, per Node."""
    not_ready: dict[Node, Buffer]
    """The buffers of Nodes that wait for more gradients."""
    exec_info: dict[Node, ExecInfo]
    """The ExecInfos of Nodes. Empty: everything runs."""
    nodes: set[Node] | None
    """The set ``nodes_in_graph``, once it has been needed."""
    captured: list[Tensor | None]
    final_callbacks: list[Callable[[], object]]
    included: int
    """The caller's key sets, which are set again at every Node."""
    excluded: int
    streams: Tracking | None
    """The streams that wait for each other; None before a program has a second stream."""

    warnings: list[str]
    """Warnings to issue when the task is over."""

    def __init__(self, keep_graph: bool, grad_mode: bool, reentrant_depth: int) -> None:
        self.id = next(_ids)
        self.keep_graph = keep_graph
        self.grad_mode = grad_mode
        self.reentrant_depth = reentrant_depth
        self.outstanding = 0
        self.dependencies = {}
        self.not_ready = {}
        self.exec_info = {}
        self.nodes = None
        self.captured = []
        self.final_callbacks = []
        state = thread.state
        self.included = state.included
        self.excluded = state.excluded
        self.inference_mode = state.inference_mode
        self.streams = None
        self.warnings = []

    @property
    def is_gone(self) -> bool:
        """True if it has ended, so that its leftovers in a queue are void."""
        return self.reentrant_depth == GONE

    def compute_dependencies(self, root: Node, min_topological_nr: int) -> None:
        """Count the edges that lead to each Node below ``root``. The root itself has no entry."""
        self.root, self.min_topological_nr = root, min_topological_nr
        counts = self.dependencies
        root.topological_nr()  # fixes its edges, as it then has a parent; the other Nodes have one already
        stack = [root]
        while stack:
            node = stack.pop()
            if node._topological_nr < min_topological_nr:
                continue  # it cannot lead to anything that was requested
            for edge in node.next_edges:
                target = edge.function
                if target is None:
                    continue
                if target in counts:
                    counts[target] += 1
                else:
                    counts[target] = 1
                    stack.append(target)
        if recorder.active is not None:
            recorder.active.dependencies_counted(counts, min_topological_nr)

    def decrement(self, node: Node, gradient: Tensor | None) -> int:
        """Note that an edge has delivered ``gradient`` to a Node. Return the number of edges for which it still waits.

        Raise RuntimeError if it waits for none.
        """
        dependencies = self.dependencies
        try:
            left = dependencies[node] - 1
        except KeyError:
            raise RuntimeError(f"dependency not found for {type(node).name(node)}") from None
        if left:
            dependencies[node] = left
        else:
            del dependencies[node]
        return left

    def will_execute(self, node: Node) -> bool:
        """Return whether the engine will run a Node (``torch._C._will_engine_execute_node``). Raise RuntimeError for a
        leaf's Node if ``grad`` captures its gradient.
        """
        if self.nodes is None:
            self.nodes = self._nodes_in_graph()
        if node not in self.nodes or not self.exec_info:
            return node in self.nodes
        info = self.exec_info.get(node)
        if info is None or not info.should_execute:
            return False
        if node.topological_nr() == 0 and info.captures:
            raise RuntimeError(
                "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). "
                "This is currently not supported."
            )
        return True

    def _nodes_in_graph(self) -> set[Node]:
        """The targets of all edges that were counted."""
        found: set[Node] = set()
        stack = [self.root]
        while stack:
            node = stack.pop()
            if node.topological_nr() >= self.min_topological_nr:
                new = [target for target in _targets(node) if target not in found]
                found.update(new)
                stack += new
        return found

    def init_to_execute(self, root: Node, outputs: Sequence[Edge], accumulate: bool, min_topological_nr: int) -> None:
        """Fill ``exec_info``, so that only Nodes on a path from ``root`` to one of ``outputs`` run."""
        for position, edge in enumerate(outputs):
            assert edge.function is not None
            info = self._info(edge.function)
            if accumulate:
                info.needed = True
            else:
                info.captures.append((edge.input_nr, position))
                self.captured.append(None)
        self._mark_paths(root, min_topological_nr)
        if recorder.active is not None:
            recorder.active.exec_info_populated(self)

    def should_execute(self, node: Node) -> bool:
        """Return whether the engine must reach a Node. The result has no meaning while ``exec_info`` is empty."""
        info = self.exec_info.get(node)
        return info is not None and info.should_execute

    def wants(self, node: Node) -> bool:
        """Return whether a gradient that goes to a Node is used."""
        return not self.exec_info or self.should_execute(node)

    def _info(self, node: Node) -> ExecInfo:
        """Return the ExecInfo of a Node, created if it has none."""
        info = self.exec_info.get(node)
        if info is None:
            info = self.exec_info[node] = ExecInfo()
        return info

    def _mark_paths(self, root: Node, min_topological_nr: int) -> None:
        """Mark the needed Nodes, depth first: a Node is needed if one of its targets should execute."""
        self._info(root)
        seen: set[Node] = set()
        path = [(root, _targets(root))]
        while path:
            node, targets = path[-1]
            child = None
            for target in targets:
                if target not in seen:
                    seen.add(target)
                    if target.next_edges or target.topological_nr() < min_topological_nr:
                        child = target
                        break
                self._inherit(node, target)  # a leaf's Node leads nowhere
            if child is None:
                path.pop()
                if path:
                    self._inherit(path[-1][0], node)
            elif child.topological_nr() >= min_topological_nr:
                path.append((child, _targets(child)))

    def _inherit(self, node: Node, target: Node) -> None:
        info = self.exec_info.get(target)
        if info is not None and (info.needed or info.captures):
            self._info(node).needed = True

    def run_final_callbacks(self) -> None:
        """Run the final callbacks in order of installation. A callback may install more.

        Raise RuntimeError if a buffer was never completed.
        """
        if self.not_ready:
            raise RuntimeError("could not compute gradients for some functions")
        callbacks = iter(self.final_callbacks)  # a list iterator also yields items that are appended meanwhile
        for position, callback in enumerate(callbacks):
            if recorder.active is not None:
                recorder.active.callback_called(self, recorded_name(callback), position)
            callback()


_ids = itertools.count()


def _targets(node: Node) -> Iterator[Node]:
    return iter([edge.function for edge in node.next_edges if edge.function is not None])


def minimum_topological_nr(outputs: Sequence[Edge]) -> int:
    """Return the smallest number among the requested Nodes, or 0 if none is requested. A Node below it leads to none of
    them.
    """
    return min([edge.function.topological_nr() for edge in outputs if edge.function is not None], default=0)


class _Running:
    """The graph task of the current thread."""

    __slots__ = ()

    @property
    def task(self) -> GraphTask | None:
        """The graph task."""
        return thread.state.graph_task

    @task.setter
    def task(self, task: GraphTask | None) -> None:
        thread.state.graph_task = task


running = _Running()


def current_graph_task_id() -> int:
    """Return the id of the running graph task; -1 outside of a backward (``torch._C._current_graph_task_id()``)."""
    task = thread.state.graph_task
    return -1 if task is None else task.id


def queue_callback(callback: Callable[[], object]) -> None:
    """Run ``callback`` at the end of the running backward. Raise RuntimeError outside of one."""
    task = thread.state.graph_task
    if task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    task.final_callbacks.append(callback)
    if recorder.active is not None:
        recorder.active.callback_queued(task, recorded_name(callback), len(task.final_callbacks) - 1)
