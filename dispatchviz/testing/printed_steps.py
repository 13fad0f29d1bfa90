"""The steps in which PyTorch formats a tensor: these calls of operators are not the program's own."""

from __future__ import annotations

from bisect import bisect_left

from dispatchviz.core.record.events import TensorFormatted
from dispatchviz.core.record.trace_file import Trace


class PrintedSteps:
    """Asked with ``in``: whether a step happens while a tensor is formatted."""

    def __init__(self, trace: Trace) -> None:
        self._begins = trace.steps_of(TensorFormatted)
        self._ends: list[int] = []
        for step in self._begins:  # one may be within another
            self._ends.append(max(trace.ends[step], self._ends[-1] if self._ends else -1))

    def __contains__(self, step: int) -> bool:
        before = bisect_left(self._begins, step) - 1
        return before >= 0 and step <= self._ends[before]
