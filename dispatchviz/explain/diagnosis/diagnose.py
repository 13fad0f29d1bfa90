"""All diagnoses of a trace, the most important first: that of its error, then those of silent mistakes.

A rule for an error gets the ``Failure`` and returns a diagnosis, or None if it does not apply. To add a kind, write a
rule and list it in ``RULES`` of its module, in ``graph_errors``, ``call_errors`` or ``silent``.
"""

from __future__ import annotations

from collections.abc import Callable

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis import call_errors, graph_errors
from dispatchviz.explain.diagnosis.call_errors.plain import plain
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure, failure
from dispatchviz.explain.diagnosis.rules import rules_in
from dispatchviz.explain.diagnosis.silent_rules import silent_mistakes

ERROR_RULES: tuple[tuple[str, Callable[[Failure], Diagnosis | None]], ...] = (
    *rules_in(graph_errors),
    *rules_in(call_errors),
)
"""A part of PyTorch's message, and the rule for it. The order does not matter, because at most one rule applies."""


def diagnoses(trace: Trace) -> tuple[Diagnosis, ...]:
    """Return all diagnoses, in the order of ``RANKS``, and within a rank in the order of their steps."""
    error, silent = diagnosis_of_error(trace), silent_mistakes(trace)
    return silent if error is None else (error, *silent)


def diagnosis_of_error(trace: Trace) -> Diagnosis | None:
    """Return the diagnosis of the error that ended a program, or None if there was none."""
    failed = failure(trace)
    return None if failed is None else diagnosis_of(failed)


def diagnosis_of(failed: Failure) -> Diagnosis:
    """Return the diagnosis of an error, by the first rule that applies."""
    for part, rule in ERROR_RULES:
        if part in failed.message and (found := rule(failed)) is not None:
            return found
    return plain(failed)
