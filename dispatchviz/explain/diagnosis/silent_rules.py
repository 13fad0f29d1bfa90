"""The rules for what PyTorch does not complain about. Each gets a trace and yields diagnoses."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.call_errors.functions import returns_nothing
from dispatchviz.explain.diagnosis.diagnosis import RANKS, Diagnosis
from dispatchviz.explain.diagnosis.silent.accumulated import accumulated
from dispatchviz.explain.diagnosis.silent.cut_losses import cut_losses
from dispatchviz.explain.diagnosis.silent.dead_units import dead_units
from dispatchviz.explain.diagnosis.silent.hidden_writes import hidden_writes
from dispatchviz.explain.diagnosis.silent.missing_gradients import missing_gradients
from dispatchviz.explain.diagnosis.silent.moved_leaves import computed_parameters, not_a_leaf
from dispatchviz.explain.diagnosis.silent.no_derivative import no_derivative
from dispatchviz.explain.diagnosis.silent.not_finite import infinite_gradients
from dispatchviz.explain.diagnosis.silent.stale_optimizers import stale_optimizers
from dispatchviz.explain.diagnosis.silent.zero_derivatives import zero_derivatives

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
    returns_nothing,
    stale_optimizers,
    zero_derivatives,
)
"""Rules for what PyTorch does not complain about."""


def silent_mistakes(trace: Trace) -> tuple[Diagnosis, ...]:
    """What silently goes wrong, in the order of ``RANKS``, within one rank in the order of the steps."""
    found = (each for rule in SILENT_RULES for each in rule(trace))
    return tuple(sorted(found, key=lambda each: (RANKS.index(each.rank), each.at)))
