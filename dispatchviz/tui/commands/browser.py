"""The backward graph in the browser: drawn into a file that stays until the machine clears its temporary files."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.selected_nodes import selector


def picture_file(trace: Trace, at: int) -> tuple[Path, str]:
    """The backward graph as of a step, as an SVG file, and what is to be said of it.

    Of a folded graph the turn with the step's Node is drawn in full. RenderError if there is no graph.
    """
    from dispatchviz.outputs.picture.graph_picture import backward_graph

    path = Path(tempfile.mkdtemp(prefix="dispatchviz-")) / "backward_graph.svg"
    graph = backward_graph(trace, at, None)
    here = None if graph.highlight is None else graph[graph.highlight]
    return path, graph.render(path, expand=[] if here is None else [selector(here)])


def open_in_browser(path: Path) -> bool:
    """Shows a file in the browser; False where there is none, or only one that would take over the terminal."""
    import webbrowser

    graphical = sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(graphical) and webbrowser.open(path.as_uri())
