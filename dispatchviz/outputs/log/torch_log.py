"""The trace as the lines that a debug build of PyTorch prints under ``TORCH_SHOW_DISPATCH_TRACE=1``.

It mirrors ``_print_dispatch_trace`` in ``aten/src/ATen/core/dispatch/Dispatcher.cpp``: a line for each dispatch,
indented by one space for each dispatch that contains it, including itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record.events import Dispatched
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.foundation.shown_text import ShownLines


def torch_log(trace: Trace) -> ShownLines:
    """Return one line for each dispatch, in order, without line ends."""
    return ShownLines(_lines(trace))


def _lines(trace: Trace) -> Iterator[str]:
    levels = [0] * len(trace)
    for event in trace:
        level = 0 if event.parent is None else levels[event.parent]
        if isinstance(event, Dispatched):
            level += 1
            yield f"{' ' * level}[{event.how}] op=[{event.operator}], key=[{event.key}]"
        levels[event.seq] = level
