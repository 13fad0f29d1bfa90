"""Every diagnosis of a trace, the most important first: of its error, then of what silently goes wrong.

A rule of an error gets the ``Failure`` and returns a diagnosis, or None if it is not its kind. A rule of silent
mistakes gets the trace and yields diagnoses. To add a kind, write a rule and list it here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis import (
    backward_calls,
    conversions,
    flags,
    inference,
    inplace,
    no_graph,
    saved_tensors,
    second_backward,
    view_writes,
)
from dispatchviz.explain.diagnosis.diagnosis import RANKS, Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure, failure
from dispatchviz.explain.diagnosis.words import base_name, on_line
from dispatchviz.explain.sentences.statement import Statement

ERROR_RULES: tuple[tuple[str, Callable[[Failure], Diagnosis | None]], ...] = (
    (backward_calls.NOT_REQUIRED, backward_calls.not_required),
    (backward_calls.NOT_SCALAR, backward_calls.not_scalar),
    (backward_calls.UNUSED, backward_calls.unused),
    (conversions.NUMPY, conversions.numpy),
    (conversions.DEEPCOPY, conversions.deepcopy),
    (conversions.PICKLED, conversions.pickled),
    (flags.INTEGERS, flags.integers),
    (flags.NOT_A_LEAF, flags.not_a_leaf),
    (flags.OUT, flags.out),
    (inference.WRITTEN, inference.written),
    (inference.SAVED, inference.saved),
    (inplace.VIEW_OF_LEAF, inplace.view_of_leaf),
    (inplace.LEAF, inplace.leaf),
    (inplace.OVERLAPPING, inplace.overlapping),
    (no_graph.MESSAGE, no_graph.no_graph),
    (saved_tensors.MODIFIED, saved_tensors.modified),
    (saved_tensors.DETACHED, saved_tensors.detached),
    (second_backward.MESSAGE, second_backward.second_backward),
    (view_writes.DETACHED_VIEW, view_writes.detached_view),
    (view_writes.INFERENCE, view_writes.unrecorded_view),
    (view_writes.NO_GRAD, view_writes.unrecorded_view),
    (view_writes.OF_FUNCTION, view_writes.of_function),
    (view_writes.SEVERAL_VIEWS, view_writes.several_views),
)
"""A part of PyTorch's message, and the rule for it; the first that answers is taken."""

SILENT_RULES: tuple[Callable[[Trace], Iterator[Diagnosis]], ...] = ()
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
