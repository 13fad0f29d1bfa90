"""Storages that are a copy of another one in another dtype, as ``aten::_to_copy`` makes them for mixed precision."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.enclosing_steps import within
from dispatchviz.explain.trace_index.trace_index import index

COPIES = "aten::_to_copy"
"""The operator behind ``to``, ``half``, ``float`` and the casts of autocast."""


def original(trace: Trace, storage: int) -> ev.TensorCreated | None:
    """Return the tensor of another dtype whose elements were copied to a new storage, or None."""
    steps = index(trace).about_storage(storage, ev.TensorCreated)
    call = _call(trace, steps[0]) if len(steps) else None
    computed = None if call is None else within(trace, call, ev.KeySetComputed)
    if computed is None or not computed.arguments:
        return None
    copy, made = trace[steps[0]], index(trace).tensors.get(computed.arguments[0][1])
    if made is None or made.storage == storage or not isinstance(copy, ev.TensorCreated) or made.dtype == copy.dtype:
        return None
    return made


def _call(trace: Trace, step: int) -> int | None:
    """Return the outermost call of the operator around the step at which a tensor appeared."""
    columns = trace.columns
    try:
        number = columns.operator_names.index(COPIES)
    except ValueError:
        return None
    code = columns.code(ev.Dispatched)
    found = [at for at in columns.ancestors(step) if columns.kinds[at] == code and columns.operators[at] == number]
    return found[-1] if found else None
