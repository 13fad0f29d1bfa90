"""Backwards that compiled autograd runs: what it asks of each Node, and the graph that it captures.

C++ calls ``compiled_args`` and ``apply_with_saved`` of the Nodes, which a release build does not show. They are derived
from the calls of ``AutogradCompilerInstance`` and from the graph (``torch/_dynamo/compiled_autograd.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.live.graph_lines import GraphReader, state_of

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder

Function = Callable[..., Any]


class CapturedBackwards:
    """The recorder of compiled autograd."""

    def __init__(self, watch: LiveRecorder, reader: GraphReader) -> None:
        self._watch, self._reader = watch, reader
        self._captured: list[tuple[str, int, int]] = []
        """The Nodes of the backward: name, position, and the number of lines before."""
        self.running = False
        """True while compiled autograd runs a backward."""

    @contextmanager
    def backward(self) -> Iterator[None]:
        """Record a backward that compiled autograd runs inside the block."""
        watch = self._watch
        watch.line_calls(3)
        watch._emit_span(ev.BackwardCompiled)
        self.running = True
        try:
            yield
        finally:
            self.running = False
            if recorder.listening is watch:
                watch.leave()

    def capturing_backward(self, original: Function) -> Function:
        """Return a replacement of ``AutogradCompilerInstance.begin_capture``."""

        @wraps(original)
        def begin_capture(compiler: Any, *args: Any) -> Any:
            self._captured = []
            return original(compiler, *args)

        return begin_capture

    def applying(self, original: Function) -> Function:
        """Return a replacement of ``AutogradCompilerInstance.set_node_origin``, which C++ calls before each
        ``apply_with_saved``.
        """

        @wraps(original)
        def set_node_origin(compiler: Any, name: str, index: int, *rest: Any) -> Any:
            self._captured.append((name, index, len(compiler.fx_tracer.graph.nodes)))
            return original(compiler, name, index, *rest)

        return set_node_origin

    def ending(self, original: Function) -> Function:
        """Return a replacement of ``AutogradCompilerInstance.end_capture``, which has the whole graph."""

        @wraps(original)
        def end_capture(compiler: Any, *args: Any) -> Any:
            if recorder.listening is self._watch:
                self._watch.guarded(lambda: self._backward_captured(compiler.fx_tracer.graph))
            return original(compiler, *args)

        return end_capture

    def _backward_captured(self, graph: Any) -> None:
        lines, nodes = self._reader.lines(graph), tuple(graph.nodes)
        ends = [*[begin for _, _, begin in self._captured[1:]], len(lines)]
        parts = [
            (plain_node(name), at, begin, end) for (name, at, begin), end in zip(self._captured, ends, strict=False)
        ]
        for name, at, begin, end in parts:
            self._watch._emit(ev.NodeCaptured, "compiled_args", name, at, tuple(state_of(nodes[begin:end])))
        for name, at, begin, end in parts:
            added = tuple([one.name for one in lines[begin:end] if "getitem" not in one.code.partition("(")[0]])
            self._watch._emit(ev.NodeCaptured, "apply_with_saved", name, at, added)
        names = {line.name: name for name, _, begin, end in parts for line in lines[begin:end]}
        of_nodes = tuple([line._replace(node=names.get(line.name, "")) for line in lines])
        self._watch._emit(ev.GraphCaptured, -1, "compiled autograd", of_nodes, (), False)


def plain_node(name: str) -> str:
    """Return the name of a Node without its C++ namespace."""
    return name.rpartition("::")[2]
