"""The trace as a plain log to read from top to bottom: a row per step, nested, with the reasons where a decision falls.

Rule 1: the dispatch of a call that the program makes itself is explained; of the calls that kernels and formulas make
inside it there are only the rows. A composite kernel counts as the program: it only makes such calls.
Rule 2: nothing is explained twice: neither the same sentence nor the same lesson about the same operator.
Rule 3: what printing a tensor takes is one row, which counts the calls.

The texts come from ``explain``; here is only which of them are printed, and where.
"""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.errors.version_counters import invalidated_by
from dispatchviz.explain.sentences.step_labels import label, sign
from dispatchviz.explain.sentences.step_sentences import why_here
from dispatchviz.explain.trace_index.enclosing_steps import around, at_or_around, caller, within
from dispatchviz.explain.trace_index.folded_steps import unfolded

WIDTH = 110
"""Columns of the log; labels may run over, reasons are wrapped."""

DECISIVE = (
    ev.TorchDispatchEntered,
    ev.AutocastChanged,
    ev.AutocastCast,
    ev.AutocastCacheCleared,
    ev.NodeCreated,
    ev.EdgesCollected,
    ev.NoNodeMade,
    ev.HistorySet,
    ev.HistoryRebased,
    ev.DualLevelEntered,
    ev.DualLevelLeft,
    ev.ForwardFormulaEntered,
    ev.TangentSet,
    ev.FunctionEntered,
    ev.FunctionOutput,
    ev.BackwardStarted,
    ev.ExecInfoPopulated,
    ev.NodeSkipped,
    ev.NodeStarted,
    ev.FormulaSkipped,
    ev.GradientReduced,
    ev.GradientBuffered,
    ev.GradientAccumulated,
    ev.ErrorRaised,
)
"""Kinds of events whose reason is always printed below them."""

LESSONS = (ev.KeySetComputed, ev.FallthroughSkipped, ev.KernelSelected, ev.GuardEntered, ev.Dispatched)
"""Kinds whose reason is printed in the program's own calls (of Dispatched: the redispatches)."""


def text_log(trace: Trace, begin: int = 0) -> Iterator[str]:
    """The log line by line, without line ends; with ``begin`` from that step on, below the rows that it is within.

    The reason of that step is given in any case.
    """
    yield from _head(trace)
    reasons = _Reasons(trace)
    width = len(str(max(len(trace) - 1, 0)))
    context = list(trace.ancestors(begin))[::-1] if begin else []
    for event in (*context, *map(trace.__getitem__, unfolded(trace, begin))):
        if isinstance(event, ev.SourceLine):
            yield ""
        indent = "  " * trace.depths[event.seq]
        yield f"{event.seq:>{width}} {sign(event)} {indent}{label(trace, event.seq)}"
        if reasons.is_due(event) or begin == event.seq != 0:
            yield from _wrapped(why_here(trace, event.seq), " " * (width + 3) + indent + "  | ")


def _head(trace: Trace) -> Iterator[str]:
    header = trace.header
    engine = f"the model of PyTorch {header.pytorch}" if header.engine == "model" else f"PyTorch {header.pytorch}"
    yield f"{header.program} on {engine}, cuda: {header.cuda}"
    if trace.notice:
        yield f"note: {trace.notice}"


def _wrapped(sentence: str, begin: str) -> Iterator[str]:
    yield from textwrap.wrap(sentence, max(WIDTH, len(begin) + 50), initial_indent=begin, subsequent_indent=begin)


class _Reasons:
    """Which reasons are due, and which have been given."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._given: set[Hashable] = set()
        self._own: dict[int, bool] = {}
        """Of each dispatch, whether it belongs to a call of the program."""

    def is_due(self, event: ev.AnyEvent) -> bool:
        """Whether to give the reason of an event now; it then counts as given."""
        due = isinstance(event, DECISIVE) or (isinstance(event, LESSONS) and self._is_own(event))
        if not due and not (isinstance(event, ev.VersionBumped) and invalidated_by(self._trace, event)):
            return False
        what = self._lesson(event)
        if what in self._given or (isinstance(event, ev.GradientBuffered) and event.how == "stored"):
            return False
        self._given.add(what)
        return True

    def _lesson(self, event: ev.AnyEvent) -> Hashable:
        """What a reason teaches: the same for two events of which the second need not be explained."""
        call = at_or_around(self._trace, event.seq, ev.Dispatched)
        operator = call.operator if call else ""
        match event:
            case ev.FallthroughSkipped():
                return operator, event.keys
            case ev.KernelSelected() | ev.Dispatched():
                return operator, type(event), event.key
            case ev.GuardEntered():
                return operator, event.guard
            case ev.HistorySet():
                return ev.HistorySet
            case _:
                return why_here(self._trace, event.seq)

    def _is_own(self, event: ev.AnyEvent) -> bool:
        if isinstance(event, ev.Dispatched) and event.how.startswith("call"):
            return False  # the steps below a call explain it
        call = at_or_around(self._trace, event.seq, ev.Dispatched)
        return call is None or self._is_own_call(call)

    def _is_own_call(self, call: ev.Dispatched) -> bool:
        known = self._own.get(call.seq)
        if known is None:
            known = self._own[call.seq] = self._decide(call)
        return known

    def _decide(self, call: ev.Dispatched) -> bool:
        outer = around(self._trace, call.seq, ev.Dispatched)
        if outer is None:
            direct = call.parent is None or isinstance(self._trace[call.parent], ev.SourceLine)
            return direct or isinstance(caller(self._trace, call.seq), ev.BindingEntered)
        if not self._is_own_call(outer):
            return False
        chosen = within(self._trace, outer.seq, ev.KernelSelected)
        return call.how.startswith("re") or (chosen is not None and chosen.reason == "math kernel")
