"""Every diagnosis of a trace, the most important first: of its error, then of what silently goes wrong.

A rule of an error gets the ``Failure`` and returns a diagnosis, or None if it is not its kind. A rule of silent
mistakes gets the trace and yields diagnoses. To add a kind, write a rule and list it here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis import no_graph
from dispatchviz.explain.diagnosis.accumulated import accumulated
from dispatchviz.explain.diagnosis.cut_losses import cut_losses
from dispatchviz.explain.diagnosis.dead_units import dead_units
from dispatchviz.explain.diagnosis.diagnosis import RANKS, Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure, failure
from dispatchviz.explain.diagnosis.hidden_writes import hidden_writes
from dispatchviz.explain.diagnosis.missing_gradients import missing_gradients
from dispatchviz.explain.diagnosis.moved_leaves import computed_parameters, not_a_leaf
from dispatchviz.explain.diagnosis.no_derivative import no_derivative
from dispatchviz.explain.diagnosis.not_finite import infinite_gradients
from dispatchviz.explain.diagnosis.stale_optimizers import stale_optimizers
from dispatchviz.explain.diagnosis.words import base_name, on_line
from dispatchviz.explain.diagnosis.zero_derivatives import zero_derivatives
from dispatchviz.explain.sentences.statement import Statement

ERROR_RULES: tuple[tuple[str, Callable[[Failure], Diagnosis | None]], ...] = ((no_graph.MESSAGE, no_graph.no_graph),)
"""A part of PyTorch's message, and the rule for it; the first that answers is taken."""

SILENT_RULES: tuple[Callable[[Trace], Iterator[Diagnosis]], ...] = (
    accumulated,
    computed_parameters,
    cut_losses,
    dead_units,
    hidden_writes,
    infinite_gradients,
    missing_gradients,
    no_derivative,
    not_a_leaf,
    stale_optimizers,
    zero_derivatives,
)
"""Rules for what PyTorch does not complain about."""


def diagnoses(trace: Trace) -> tuple[Diagnosis, ...]:
    """All diagnoses, in the order of ``RANKS``, those of one rank in the order of their steps."""
    failed = failure(trace)
    found = [] if failed is None else [_of_error(failed)]
    silent = [each for rule in SILENT_RULES for each in rule(trace)]
    return tuple(sorted((*found, *silent), key=lambda each: (RANKS.index(each.rank), each.at)))


def _of_error(failed: Failure) -> Diagnosis:
    for part, rule in ERROR_RULES:
        if part in failed.message and (found := rule(failed)) is not None:
            return found
    return _plain(failed)


def _plain(failed: Failure) -> Diagnosis:
    """Which line and which call raised, where no rule knows the cause."""
    call, where = failed.call, on_line(failed.trace, failed.raised)
    by = f"{base_name(call)} raised {failed.ended.exception}" if call is not None else f"{failed.ended.exception}"
    cause = Statement("error of no known kind", f"{by} on {where}." if where else f"{by} ended the program.")
    return Diagnosis("error", failed.raised, (cause,), failed.message, (), (failed.raised,))
