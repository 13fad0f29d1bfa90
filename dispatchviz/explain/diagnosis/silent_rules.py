"""The rules for mistakes for which PyTorch raises no error. Each gets a trace and yields diagnoses."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis import silent
from dispatchviz.explain.diagnosis.diagnosis import RANKS, Diagnosis
from dispatchviz.explain.diagnosis.rules import rules_in

SILENT_RULES: tuple[Callable[[Trace], Iterator[Diagnosis]], ...] = tuple(rules_in(silent))
"""The rules for silent mistakes."""


def silent_mistakes(trace: Trace) -> tuple[Diagnosis, ...]:
    """Return the silent mistakes, in the order of ``RANKS``, and within a rank in the order of the steps.

    There are none in a recording of a part, because most rules conclude something from events that are missing.
    """
    if trace.header.only:
        return ()
    found = (each for rule in SILENT_RULES for each in rule(trace))
    return tuple(sorted(found, key=lambda each: (RANKS.index(each.rank), each.at)))
