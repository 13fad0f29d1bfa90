"""Every diagnosis of a trace, the most important first: of its error, then of what silently goes wrong.

A rule of an error gets the ``Failure`` and returns a diagnosis, or None if it is not its kind. To add a kind, write a
rule and list it here; one of a silent mistake in ``silent_rules.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.call_errors import (
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
    one_number,
    products,
    shapes,
    signatures,
    strides,
    transforms,
)
from dispatchviz.explain.diagnosis.call_errors.plain import plain
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure, failure
from dispatchviz.explain.diagnosis.graph_errors import (
    backward_calls,
    conversions,
    flags,
    inference,
    inplace,
    no_graph,
    recursion,
    saved_tensors,
    second_backward,
    view_writes,
)
from dispatchviz.explain.diagnosis.silent_rules import silent_mistakes

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
    (saved_tensors.MODIFIED, saved_tensors.modified),
    (saved_tensors.DETACHED, saved_tensors.detached),
    (second_backward.MESSAGE, second_backward.second_backward),
    (no_graph.MESSAGE, no_graph.no_graph),
    (recursion.MESSAGE, recursion.recursion),
    (view_writes.DETACHED_VIEW, view_writes.detached_view),
    (view_writes.INFERENCE, view_writes.unrecorded_view),
    (view_writes.NO_GRAD, view_writes.unrecorded_view),
    (view_writes.OF_FUNCTION, view_writes.of_function),
    (view_writes.SEVERAL_VIEWS, view_writes.several_views),
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
    *one_number.RULES,
    *products.RULES,
    *shapes.RULES,
    *signatures.RULES,
    *strides.RULES,
    *transforms.RULES,
)
"""A part of PyTorch's message, and the rule for it; the first that answers is taken."""


def diagnoses(trace: Trace) -> tuple[Diagnosis, ...]:
    """All diagnoses, in the order of ``RANKS``, those of one rank in the order of their steps."""
    error, silent = diagnosis_of_error(trace), silent_mistakes(trace)
    return silent if error is None else (error, *silent)


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
