"""Registrations."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.labels.label_functions import Labels

LABELS = Labels()


@LABELS.of(ev.OperatorDefined)
def _defined(trace: Trace, event: ev.OperatorDefined) -> str:
    return f"def {event.operator}"


@LABELS.of(ev.KernelRegistered)
def _registered(trace: Trace, event: ev.KernelRegistered) -> str:
    verb = "removed" if event.removed else "impl" if event.operator else "fallback"
    return f"{verb} {event.operator or 'all operators'} {event.key}: {event.kernel}"


@LABELS.of(ev.CellsRecomputed)
def _recomputed(trace: Trace, event: ev.CellsRecomputed) -> str:
    cells = "1 cell" if len(event.cells) == 1 else f"{len(event.cells)} cells"
    return f"{cells} of {event.operator} changed"
