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
    function_uses,
    functions,
    hooks,
    indices,
    joining,
    layers,
    losses,
    missing_kernels,
    no_graph,
    one_number,
    products,
    shapes,
    signatures,
    strides,
    transforms,
)
from dispatchviz.explain.diagnosis.diagnosis import RANKS, Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure, failure
from dispatchviz.explain.diagnosis.plain import plain

ERROR_RULES: tuple[tuple[str, Callable[[Failure], Diagnosis | None]], ...] = (
    *anomaly.RULES,
    *broadcasting.RULES,
    *devices.RULES,
    *dtypes.RULES,
    *function_uses.RULES,
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
    *shapes.RULES,
    *signatures.RULES,
    *strides.RULES,
    *transforms.RULES,
)
"""A part of PyTorch's message, and the rule for it; the first that answers is taken."""

SILENT_RULES: tuple[Callable[[Trace], Iterator[Diagnosis]], ...] = (functions.returns_nothing,)
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
    return plain(failed)
