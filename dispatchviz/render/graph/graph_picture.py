"""The backward graph with its pictures: what ``trace.backward_graph()`` gives, and files by suffix.

What is in the graph is decided in ``explain/graph/backward_graph.py``, what is drawn in ``dot.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dispatchviz.core.record.file_replacement import write_whole
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph import backward_graph as explain
from dispatchviz.render.graph.dot import Drawing, drawing
from dispatchviz.render.graph.png import png
from dispatchviz.render.graph.svg import RenderError, pdf, svg

_WRITERS: dict[str, Callable[[Drawing], bytes]] = {
    ".dot": lambda drawn: drawn.source.encode(),
    ".svg": lambda drawn: svg(drawn).encode(),
    ".png": lambda drawn: png(svg(drawn)),
    ".pdf": pdf,
}

SUFFIXES = tuple(_WRITERS)
"""What ``render`` can write."""


class BackwardGraph(explain.BackwardGraph):
    """The backward Nodes as of a step, as a value that can draw itself."""

    def dot(self) -> str:
        """The graph in Graphviz's language."""
        return drawing(self).source

    def svg(self) -> str:
        """The picture. Raises RenderError if no layout program can draw it."""
        return svg(drawing(self))

    def render(self, path: str | Path) -> None:
        """Writes the picture, by suffix: .svg, .png, .pdf or .dot.

        Raises RenderError for another suffix, for an empty graph, and if the picture cannot be made or written.
        """
        render(self, path)


def backward_graph(trace: Trace, at: int | None = None, of: int | str | None = None) -> BackwardGraph:
    """As ``explain.backward_graph.backward_graph``."""
    graph = explain.backward_graph(trace, at, of)
    return BackwardGraph(**vars(graph))


def render(graph: explain.BackwardGraph, path: str | Path) -> None:
    """Writes a picture of a graph, by the suffix of the file's name.

    Raises RenderError for a suffix that is not in ``SUFFIXES``, for an empty graph, and if the picture cannot be made
    or written.
    """
    target = Path(path)
    if target.suffix.lower() not in _WRITERS:
        raise RenderError(f"cannot write {target.name}: the suffix must be one of {', '.join(SUFFIXES)}")
    drawn = picture(graph, target.suffix.lower())
    try:
        write_whole(target, drawn)
    except OSError as error:
        raise RenderError(f"cannot write {target}: {error.strerror}") from None


def picture(graph: explain.BackwardGraph, suffix: str) -> bytes:
    """What a file with one of ``SUFFIXES`` holds. Raises RenderError for an empty graph, or if it cannot be made."""
    if not len(graph):
        raise RenderError(f"nothing to draw: {graph.header.program} has no backward Nodes")
    return _WRITERS[suffix](drawing(graph))
