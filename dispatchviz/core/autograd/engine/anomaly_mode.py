"""Anomaly mode: every Node stores the stack of its creation, and a Node that fails prints it.

This module mirrors ``torch/csrc/autograd/anomaly_mode.cpp`` and ``python_anomaly_mode.cpp``. The mode belongs to the
process, not to a thread. ``node.py`` (construction) and ``engine.py`` (errors, nan) use it.

Rule 1: a Node's ``metadata`` has ``traceback_``, formatted lines, and ``parent_``, the Node that was being evaluated,
if any.
Rule 2: while the mode is off, nothing checks for it: ``process_modes.py`` exchanges the functions that depend on it.

NB: in PyTorch, the lines include frames of PyTorch's own Python files. Here the frames of this package, and of the code
that runs the user's program, are left out.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.process_modes import Mode, process_modes
from dispatchviz.core.thread import warning
from dispatchviz.core.thread.guards import AutoGradMode
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.autograd.graph.node import Gradients, Node
    from dispatchviz.core.tensor.tensor import Tensor

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__)))) + os.sep
_TRACE = "traceback_"
_PARENT = "parent_"
_FILE = "torch/csrc/autograd/python_anomaly_mode.cpp"


def set_enabled(on: bool, check_nan: bool = True) -> None:
    """Set the mode for all threads."""
    process_modes.set(Mode.ANOMALY, on)
    process_modes.set(Mode.NAN_CHECK, check_nan)


def is_enabled() -> bool:
    """Return whether the mode is on."""
    return bool(process_modes.active & Mode.ANOMALY)


def checks_nan() -> bool:
    """Return whether the gradients that a Node returns are checked for nan. It matters only while the mode is on."""
    return bool(process_modes.active & Mode.NAN_CHECK)


# -- when a Node is made ----------------------------------------------------------------------------------------------


def store_stack(node: Node) -> None:
    """Store the program's running lines in the Node, and the Node that is being evaluated."""
    lines = node.metadata[_TRACE] = formatted_stack()
    parent = thread.state.current_node
    if parent is not None:
        node.metadata[_PARENT] = parent
    if recorder.active is not None:
        recorder.active.stack_stored(node, lines[-1] if lines else "", parent)


def formatted_stack() -> list[str]:
    """The program's frames as ``traceback.format_list`` writes them, outermost first."""
    frames = [(frame, frame.f_lineno) for frame in reversed(list(_program_frames()))]
    return traceback.StackSummary.extract(frames).format()


def _program_frames() -> Iterator[FrameType]:
    """Yield the program's frames, the innermost first, without those around the main program."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            yield frame
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__":
            return
        frame = frame.f_back


# -- when a Node has run ----------------------------------------------------------------------------------------------


def raise_if_nan(node: Node, outputs: Gradients) -> None:
    """Raise RuntimeError for the first gradient with a nan in it."""
    for index, output in enumerate(outputs):
        if output is not None and _has_nan(output):
            raise RuntimeError(f"Function '{type(node).name(node)}' returned nan values in its {index}th output.")


def _has_nan(gradient: Tensor) -> bool:
    """Return whether a gradient has a nan. As in PyTorch, operators check it, and their calls are part of the program's
    dispatch.
    """
    with AutoGradMode(False, "checking for nan"):
        return bool(ops.item.call(ops._is_any_true.call(ops.isnan.call(gradient))))


def print_stack(node: Node) -> None:
    """Warn with the lines that created a Node in which an error was raised, then with those of its parent Nodes."""
    with warning.as_python():
        lines = _warn(node, _FIRST, 122)
        if recorder.active is not None:
            recorder.active.anomaly_found(node, lines)
        parent = node.metadata.get(_PARENT)
        while parent is not None:
            _warn(parent, _INDUCED, 129)
            parent = parent.metadata.get(_PARENT)


_FIRST = "Error detected in {}. Traceback of forward call that caused the error:\n{}"
_INDUCED = (
    "\n\nPrevious calculation was induced by {}. Traceback of forward call that induced the previous calculation:\n{}"
)
_UNKNOWN = (
    "Error detected in {}. No forward pass information available. Enable detect anomaly during forward pass for more "
    "information."
)


def _warn(node: Node, text: str, line: int) -> str:
    stack = node.metadata.get(_TRACE)
    if stack is None:
        warning.warn(_UNKNOWN.format(type(node).name(node)), f"{_FILE}:100")
        return ""
    lines = "".join(stack)
    warning.warn(text.format(type(node).name(node), lines), f"{_FILE}:{line}")
    return lines
