"""The trace as a plain log to read from top to bottom: a row per step, nested, with the reasons where a decision falls.

A reason is printed the first time it is given: the same sentence about the same names is not told twice. What the
words are is decided in ``explain``; here is only the layout.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from dispatchviz.core import events as ev
from dispatchviz.core.trace import Trace
from dispatchviz.explain.labels import label, sign
from dispatchviz.explain.sentences import why_here

WIDTH = 110
"""Columns of the log; labels may run over, reasons are wrapped."""

DECISIVE = (
    ev.Dispatched,
    ev.KeySetComputed,
    ev.FallthroughSkipped,
    ev.KernelSelected,
    ev.GuardEntered,
    ev.NodeCreated,
    ev.EdgesCollected,
    ev.NoNodeMade,
    ev.HistorySet,
    ev.HistoryRebased,
    ev.BackwardStarted,
    ev.NodeStarted,
    ev.GradientReduced,
    ev.GradientBuffered,
    ev.GradientAccumulated,
    ev.ErrorRaised,
)
"""Kinds of events whose reason is printed below them."""


def text_log(trace: Trace) -> Iterator[str]:
    """The log line by line, without line ends."""
    yield from _head(trace)
    said: set[str] = set()
    width = len(str(max(len(trace) - 1, 0)))
    for event in trace:
        if isinstance(event, ev.SourceLine):
            yield ""
        indent = "  " * trace.depths[event.seq]
        yield f"{event.seq:>{width}} {sign(event)} {indent}{label(trace, event.seq)}"
        if isinstance(event, DECISIVE) and not _plain_call(event):
            yield from _reason(why_here(trace, event.seq), " " * (width + 3) + indent, said)


def _head(trace: Trace) -> Iterator[str]:
    header = trace.header
    engine = f"the model of PyTorch {header.pytorch}" if header.engine == "model" else f"PyTorch {header.pytorch}"
    yield f"{header.program} on {engine}, cuda: {header.cuda}"
    if trace.notice:
        yield f"note: {trace.notice}"


def _plain_call(event: ev.AnyEvent) -> bool:
    """The steps below a call say all there is to say about it; a redispatch has only its own sentence."""
    return isinstance(event, ev.Dispatched) and event.how.startswith("call")


def _reason(sentence: str, indent: str, said: set[str]) -> Iterator[str]:
    if sentence in said:
        return
    said.add(sentence)
    begin = indent + "  | "
    yield from textwrap.wrap(sentence, max(WIDTH, len(begin) + 50), initial_indent=begin, subsequent_indent=begin)
