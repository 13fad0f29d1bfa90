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

Rules = tuple[tuple[str, Callable[[Failure], Diagnosis | None]], ...]
CALL_RULES: Rules = tuple(rules_in(call_errors))
"""The rules for errors of a single call, which need no earlier events."""
ERROR_RULES: Rules = (*rules_in(graph_errors), *CALL_RULES)
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
    """Return the diagnosis of an error, by the first rule that applies. In a recording of a part, rules for errors of
    the graph do not apply, because the cause may be in another part.
    """
    only = failed.trace.header.only
    for part, rule in CALL_RULES if only else ERROR_RULES:
        if part in failed.message and (found := rule(failed)) is not None:
            return found._replace(unseen=_with_part(found.unseen, only))
    found = plain(failed)
    return found._replace(unseen=_with_part(found.unseen, only))


def _with_part(unseen: str, only: tuple[str, ...]) -> str:
    """Return the limits of a recording, with the limit to a part."""
    if not only:
        return unseen
    part = f"Only a part of the program was recorded ({', '.join(only)}). The cause may be in another part."
    return f"{unseen} {part}".lstrip()
