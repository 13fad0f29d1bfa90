"""The in-place writes that PyTorch rejects: to a leaf, to a view of a leaf, to a tensor whose elements share memory.

The origin of a view follows from the calls that made it, because a recording of an installed PyTorch has no event for
the view itself.
"""

from __future__ import annotations

import math
from itertools import pairwise

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.graph_errors.rewritten import out_of_place
from dispatchviz.explain.diagnosis.graph_errors.values import (
    Written,
    called,
    line_text,
    shape_of,
    text_on_line,
    variable,
    views_back,
    with_line,
)
from dispatchviz.explain.diagnosis.words import base_name, begun, made_by, on_line
from dispatchviz.explain.sentences.sentence_claims import RequiresGrad, WriteRaises
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import within
from dispatchviz.explain.trace_index.trace_index import index

LEAF = "a leaf Variable that requires grad is being used in an in-place operation"
VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation"
OVERLAPPING = "more than one element of the written-to tensor refers to a single memory location"


def leaf(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a write to a leaf that requires grad."""
    written = written_to(failure)
    if written is None or VIEW_OF_LEAF in failure.message:
        return None
    trace, at, name = failure.trace, failure.raised, called(failure.trace, written.tensor, failure.raised)
    which = begun(with_line(trace, written.tensor, at))
    text = (
        f"{which} is a leaf that requires grad, and {on_line(trace, at)} writes to it in place with "
        f"{base_name(written.call)}. After that write {name} would have a grad_fn and no longer be a leaf, so no "
        f"backward pass would write {name}.grad."
    )
    claims = (RequiresGrad(written.tensor, requires_grad=True), WriteRaises(written.tensor, LEAF))
    cause = Statement("in-place write: a leaf", text, claims)
    only = ".grad" in line_text(failure) or "." in name  # a module does not accept another tensor for a parameter
    fixes = (_unrecorded(failure),) if only else (_unrecorded(failure), _or(failure, name))
    return diagnosis_of(failure, cause, fixes, written)


def view_of_leaf(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a write to a view of a leaf that requires grad."""
    written = written_to(failure)
    if written is None:
        return None
    trace, at = failure.trace, failure.raised
    views = views_back(trace, written.tensor)
    base = views[-1]
    name = called(trace, base, at)
    text = (
        f"{_writes(failure, views)}. The write would change {name} itself, and {name} would no longer be a leaf."
        f"{_expanded(failure, views)}"
    )
    claims = (RequiresGrad(base, requires_grad=True), WriteRaises(written.tensor, VIEW_OF_LEAF))
    cause = Statement("in-place write: a view of a leaf", text, claims)
    copy = _copy(failure, views)
    fixes = (copy, _unrecorded(failure)) if _expanded(failure, views) else (_unrecorded(failure), copy)
    return diagnosis_of(failure, cause, fixes, written)


def overlapping(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of a write to a tensor whose elements share memory."""
    written = written_to(failure)
    if written is None:
        return None
    trace, at = failure.trace, failure.raised
    views = views_back(trace, written.tensor)
    name = called(trace, written.tensor, at)
    text = (
        f"{_writes(failure, views[:1])}.{_expanded(failure, views)} One write would hit the same element several times."
    )
    cause = Statement("in-place write: an expanded tensor", text)
    copy = f"Write to a copy: {name} = {name}.clone() before {on_line(trace, at, text=False)}."
    fixes = (copy, instead(failure, name)) if name.isidentifier() else (instead(failure, name),)
    return diagnosis_of(failure, cause, fixes, written)


# -- written tensors ---------------------------------------------------------------------------------------------------


def written_to(failure: Failure) -> Written | None:
    """Return the call that raised and the tensor that it was about to write to, or None if the recording has
    neither.
    """
    checked = failure.trace[max(failure.raised - 1, 0)]
    calls = [event for event in failure.inside if isinstance(event, ev.Dispatched)]
    for call in reversed(calls):
        if base_name(call).endswith("_") and (found := first_argument(failure.trace, call)) is not None:
            known = checked.tensor if isinstance(checked, ev.InplaceChecked) and not checked.allowed else found
            return Written(call, known)
    return None


def first_argument(trace: Trace, call: ev.Dispatched) -> int | None:
    """Return the tensor that an in-place operator writes to."""
    computed = within(trace, call.seq, ev.KeySetComputed)
    return None if computed is None else next((tensor for _, tensor, _ in computed.arguments), None)


# -- words -------------------------------------------------------------------------------------------------------------


def _writes(failure: Failure, views: list[int]) -> str:
    """Return ``Line 4 (y[0] = 2) writes in place to a view of y. y (line 3) is a view of x (line 2), a leaf ...``,
    without a period.
    """
    trace, at, base = failure.trace, failure.raised, views[-1]
    begin = f"{begun(on_line(trace, at))} writes in place to "
    if len(views) == 1:
        return begin + called(trace, base, at)
    leaf = f"{with_line(trace, base, at)}, a leaf that requires grad"
    named = next((each for each in views[:-1] if variable(trace, each, at)), None)
    if named is None:
        return f"{begin}a view of {leaf}"
    return f"{begin}{called(trace, views[0], at)}. {with_line(trace, named, at)} is a view of {leaf}"


def _expanded(failure: Failure, views: list[int]) -> str:
    """Return `` y has 3 elements in the memory of 1 ([3] from [1]): expand on line 3 repeats them.``; empty if it was
    not expanded.
    """
    trace, at = failure.trace, failure.raised
    for view, base in pairwise(views):
        shape, smaller = shape_of(trace, view, at), shape_of(trace, base, at)
        call = made_by(trace, view)
        if call is not None and math.prod(shape) > math.prod(smaller):
            return (
                f" {begun(called(trace, view, at))} has {math.prod(shape)} elements in the memory of "
                f"{math.prod(smaller)}: {base_name(call)} on {on_line(trace, call.seq, text=False)} repeats them "
                "without a copy."
            )
    return ""


def _unrecorded(failure: Failure) -> str:
    return (
        f"If it is an update or an initialization, do not record it: put {on_line(failure.trace, failure.raised)} into "
        "a block `with torch.no_grad():`."
    )


def _or(failure: Failure, name: str) -> str:
    new = instead(failure, name)
    return f"If it is part of the computation, {new[:1].lower()}{new[1:]}"


def instead(failure: Failure, name: str) -> str:
    """Return the replacement for the line: ``Compute a new tensor on line 5: a = a + 1.``"""
    where = on_line(failure.trace, failure.raised, text=False)
    if new := out_of_place(line_text(failure), name):
        return f"Compute a new tensor on {where}: {new}."
    return f"Write to a copy on {where}: {name if ' ' not in name else 'the tensor'}.clone()."


def _copy(failure: Failure, views: list[int]) -> str:
    """Return the fix with a copy of the view, on the line that made its first variable."""
    trace, at = failure.trace, failure.raised
    for view in views[:-1]:
        call, name = made_by(trace, view), variable(trace, view, at)
        if call is not None and name:
            line = on_line(trace, call.seq, text=False)
            return f"Write to a copy: let {name} on {line} be a clone(): {_cloned(trace, call, name)}."
    name = called(trace, views[-1], at)
    return f"If it is part of the computation, write to a copy: {name}.clone()."


def _cloned(trace: Trace, call: ev.Dispatched, name: str) -> str:
    """Return the statement with a clone: ``y = x.expand(3).clone()``."""
    where = text_on_line(trace, call.seq)
    return f"{where}.clone()" if where.startswith(f"{name} = ") and where.endswith(")") else f"{name} = {name}.clone()"


def diagnosis_of(failure: Failure, cause: Statement, fixes: tuple[str, ...], written: Written) -> Diagnosis:
    """Return the diagnosis of a write, proved by the creation of the tensor, the call and the error."""
    made = index(failure.trace).tensors.get(written.tensor)
    steps = sorted({*(() if made is None else (made.seq,)), written.call.seq, failure.raised})
    return Diagnosis("error", failure.raised, (cause,), failure.message, fixes, tuple(steps))


RULES = (
    (VIEW_OF_LEAF, view_of_leaf),
    (LEAF, leaf),
    (OVERLAPPING, overlapping),
)
