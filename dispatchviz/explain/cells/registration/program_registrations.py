"""The history of an operator as of a step of a trace: PyTorch's registrations, then those of the program."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import lru_cache

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.kernel.kernel_names import FALLTHROUGH
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.table.pytorch_registrations import pytorch_operators, pytorch_registry
from dispatchviz.explain.cells.registration.registration_history import ORDER, RegistrationHistory
from dispatchviz.explain.cells.registration.registration_steps import play
from dispatchviz.explain.cells.registration.registrations import (
    DEFINITION,
    FALLBACK,
    KERNEL,
    Registration,
    pytorch_fallbacks_of,
    pytorch_registrations_of,
)
from dispatchviz.explain.codegen.operator_at_step import operator_at
from dispatchviz.explain.trace_index import statements
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text
from dispatchviz.explain.trace_index.recorded_engine import build_of

LOOKED_AT = 5_000
"""The number of a program's registrations that are read, counted from the last."""

OWN_ORDER = (
    "PyTorch registers its fallbacks when it is loaded. The registrations of the program follow in order, up to this "
    "step."
)
ALSO_OWN = " The registrations of the program come last, up to this step."


def operator_here(trace: Trace, at: int) -> str:
    """The full name of the operator that a step is about, or of the first operator that its line registers something
    for; empty if there is none.
    """
    if running := operator_at(trace, at):
        return running
    steps = _steps(trace)
    within = steps[bisect_left(steps, at) : bisect_right(steps, statements.end(trace, at))]
    events = (trace[step] for step in within)
    named = (event.operator for event in events if isinstance(event, ev.OperatorDefined | ev.KernelRegistered))
    return next(filter(None, named), "")


def history_here(trace: Trace, at: int) -> RegistrationHistory | None:
    """The history of the operator that a step is about; for a line, as of the end of the line."""
    operator = operator_here(trace, at)
    until = statements.end(trace, at) if isinstance(trace[at], ev.SourceLine) else at
    return history_at(trace, operator, until) if operator else None


def history_at(trace: Trace, operator: str, at: int) -> RegistrationHistory | None:
    """The history of an operator as of a step; None if neither PyTorch nor the trace up to that step registers it."""
    own = tuple(program_registrations(trace, operator, at))
    if operator not in pytorch_operators() and not any(each.what != FALLBACK for each in own):
        return None
    return _history(operator, build_of(trace.header), own)


@lru_cache(maxsize=8)
def _history(operator: str, build: str, own: tuple[Registration, ...]) -> RegistrationHistory:
    registry = pytorch_registry(build)
    if operator in pytorch_operators():
        op = registry.find(operator)
        registrations, schema = pytorch_registrations_of(op, registry), str(op.schema)
        order = ORDER + (ALSO_OWN if own else "")
    else:
        registrations, order = pytorch_fallbacks_of(registry), OWN_ORDER
        schema = next((each.schema for each in reversed(own) if each.schema), "")
    return RegistrationHistory(operator, schema, build, order, tuple(play(operator, [*registrations, *own])))


def program_registrations(trace: Trace, operator: str, at: int) -> Iterator[Registration]:
    """Yield the program's registrations for an operator, and for all operators, up to a step."""
    steps = _steps(trace)
    until = bisect_right(steps, at)
    for step in steps[max(until - LOOKED_AT, 0) : until]:
        match trace[step]:
            case ev.OperatorDefined() as event if event.operator == operator:
                block, place = _written(trace, event.seq, f'lib.define("{event.schema}")', operator)
                yield Registration(DEFINITION, block, place, schema=event.schema, step=event.seq)
            case ev.KernelRegistered() as event if event.operator in (operator, ""):
                yield _registered(trace, event)


def _steps(trace: Trace) -> list[int]:
    """The steps at which the program registered something."""
    return sorted([*trace.steps_of(ev.OperatorDefined), *trace.steps_of(ev.KernelRegistered)])


def _registered(trace: Trace, event: ev.KernelRegistered) -> Registration:
    short = event.operator.partition("::")[2]
    said = f'lib.impl("{short}", {event.kernel}, "{event.key}")' if short else f"lib.fallback({event.kernel})"
    block, place = _written(trace, event.seq, said, event.key)
    if event.removed:
        block = f"{event.kernel} at {event.key}: its library was destroyed"
    return Registration(
        KERNEL if event.operator else FALLBACK,
        block,
        place,
        DispatchKey[event.key],
        Kernel(event.kernel, None, place, boxed=True, fallthrough=event.kernel == FALLTHROUGH),
        removed=event.removed,
        step=event.seq,
    )


def _written(trace: Trace, step: int, said: str, names: str) -> tuple[str, str]:
    """The program's line and its place. If the line does not name everything, the registration is written out with the
    line behind it.
    """
    found = source_line(trace, step)
    if found is None:
        return said, ""
    text = source_text(trace, found)
    named = names.partition("::")[2] if "::" in names else names
    shown = text if named in text else f"{said}  # {text}" if text else said
    return shown, f"{found.file}:{found.line}"
