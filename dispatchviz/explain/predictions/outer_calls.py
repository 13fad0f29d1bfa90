"""Which steps are about calls that the program itself makes: not about those that kernels and formulas make."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace

ENGINE = (ev.DependenciesCounted, ev.DependencyMet, ev.NodeStarted, ev.GradientAccumulated)

INNER = (ev.NodeStarted, ev.TorchDispatchEntered, ev.TensorFormatted)
"""What happens within these nobody has called."""


def is_outer(trace: Trace, step: int) -> bool:
    """Whether a step is the engine's own, or all calls around it are of one operator: a call and its redispatches."""
    columns = trace.columns
    if columns.kinds[step] in map(columns.code, ENGINE):
        return True
    dispatched, inner, operator = columns.code(ev.Dispatched), set(map(columns.code, INNER)), None
    for around in (step, *columns.ancestors(step)):
        kind = columns.kinds[around]
        if kind == dispatched:
            operator = columns.operators[around] if operator is None else operator
        if kind in inner or (kind == dispatched and columns.operators[around] != operator):
            return False
    return True
