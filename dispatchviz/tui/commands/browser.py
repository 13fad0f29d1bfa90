"""The backward graph in the browser: drawn into a file that stays until the machine clears its temporary files."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from dispatchviz.core.record.trace_file import Trace


def picture_file(trace: Trace, at: int) -> Path:
    """The backward graph as of a step, as an SVG file. RenderError if there is none."""
    from dispatchviz.render.graph.graph_picture import backward_graph

    path = Path(tempfile.mkdtemp(prefix="dispatchviz-")) / "backward_graph.svg"
    backward_graph(trace, at, None).render(path)
    return path


def open_picture(path: Path) -> bool:
    """Shows a file in the browser; False where there is none, or only one that would take over the terminal."""
    import webbrowser

    graphical = sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(graphical) and webbrowser.open(path.as_uri())
