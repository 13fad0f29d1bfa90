"""Every diagnosis of a trace, the most important first: of its error, then of what silently goes wrong.

A rule of an error gets the ``Failure`` and returns a diagnosis, or None if it is not its kind. A rule of silent
mistakes gets the trace and yields diagnoses. To add a kind, write a rule and list it here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis import (
    anomaly,
    broadcasting,
    devices,
    dtypes,
    functions,
    hooks,
    indices,
    inplace,
    joining,
    layers,
    losses,
    missing_kernels,
    no_graph,
    one_number,
    products,
    recursion,
    saved_tensors,
    second_backward,
    shapes,
    signatures,
    strides,
    transforms,
)
from dispatchviz.explain.diagnosis.accumulated import accumulated
from dispatchviz.explain.diagnosis.cut_losses import cut_losses
from dispatchviz.explain.diagnosis.diagnosis import RANKS, Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure, failure
from dispatchviz.explain.diagnosis.hidden_writes import hidden_writes
from dispatchviz.explain.diagnosis.missing_gradients import missing_gradients
from dispatchviz.explain.diagnosis.moved_leaves import computed_parameters, not_a_leaf
from dispatchviz.explain.diagnosis.no_derivative import no_derivative
from dispatchviz.explain.diagnosis.plain import plain
from dispatchviz.explain.diagnosis.stale_optimizers import stale_optimizers
from dispatchviz.explain.diagnosis.zero_derivatives import zero_derivatives

ERROR_RULES: tuple[tuple[str, Callable[[Failure], Diagnosis | None]], ...] = (
    (inplace.VIEW_OF_LEAF, inplace.view_of_leaf),
    (inplace.LEAF, inplace.leaf),
    (inplace.SEVERAL_VIEWS, inplace.several_views),
    (inplace.OF_FUNCTION, inplace.of_function),
    (inplace.NO_GRAD, inplace.no_grad_view),
    (inplace.OVERLAPPING, inplace.overlapping),
    (inplace.DETACHED_VIEW, inplace.detached_view),
    (saved_tensors.MODIFIED, saved_tensors.modified),
    (saved_tensors.DETACHED, saved_tensors.detached),
    (second_backward.MESSAGE, second_backward.second_backward),
    *anomaly.RULES,
    *broadcasting.RULES,
    *devices.RULES,
    *dtypes.RULES,
    *functions.RULES,
    *hooks.RULES,
    *indices.RULES,
    *joining.RULES,
    *layers.RULES,
    *losses.RULES,
    *missing_kernels.RULES,
    (no_graph.MESSAGE, no_graph.no_graph),
    *one_number.RULES,
    *products.RULES,
    (recursion.MESSAGE, recursion.recursion),
    *shapes.RULES,
    *signatures.RULES,
    *strides.RULES,
    *transforms.RULES,
)
"""A part of PyTorch's message, and the rule for it; the first that answers is taken."""

SILENT_RULES: tuple[Callable[[Trace], Iterator[Diagnosis]], ...] = (
    accumulated,
    computed_parameters,
    cut_losses,
    hidden_writes,
    missing_gradients,
    no_derivative,
    not_a_leaf,
    stale_optimizers,
    zero_derivatives,
)
"""Rules for what PyTorch does not complain about."""


def diagnoses(trace: Trace) -> tuple[Diagnosis, ...]:
    """All diagnoses, in the order of ``RANKS``, those of one rank in the order of their steps."""
    error = diagnosis_of_error(trace)
    silent = (each for rule in SILENT_RULES for each in rule(trace))
    found = silent if error is None else (error, *silent)
    return tuple(sorted(found, key=lambda each: (RANKS.index(each.rank), each.at)))


def diagnosis_of_error(trace: Trace) -> Diagnosis | None:
    """The diagnosis of the error that ended a program; None if none did."""
    failed = failure(trace)
    return None if failed is None else diagnosis_of(failed)


def diagnosis_of(failed: Failure) -> Diagnosis:
    """The diagnosis of an error: by the first rule that knows its kind."""
    for part, rule in ERROR_RULES:
        if part in failed.message and (found := rule(failed)) is not None:
            return found
    return plain(failed)
