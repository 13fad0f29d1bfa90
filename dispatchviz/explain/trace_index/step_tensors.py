"""The tensors of a step: those that it names, those of the call or Node around it, and then the variables."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.enclosing_steps import arguments, around, at_or_around
from dispatchviz.explain.trace_index.lookups import between
from dispatchviz.explain.trace_index.trace_index import index, latest

ONE = ("tensor", "result", "value", "base", "gradient", "tangent", "proxy", "output", "before", "after")
MANY = ("tensors", "gradients")
"""The fields of events that contain numbers of tensors."""

BINDINGS_LOOKED_AT = 50
"""The number of latest assignments that are read for variables."""

NODE_LOOKED_AT = 100
"""The number of last steps about a Node that are read for its saved tensors."""

_NUMBERED = re.compile(r"\bt(\d{1,18})\b")


def tensors_of(trace: Trace, at: int) -> list[int]:
    """Return the tensors that a step and the events around it name, nearest first, if they exist by then."""
    return _met(trace, at, (*_named(trace[at]), *_of_call(trace, at), *_of_node(trace, at)))


def variables_of(trace: Trace, at: int) -> list[int]:
    """Return the tensors of the variables assigned last as of a step, latest first, each with its ``.grad``."""
    steps, columns = trace.steps_of(ev.NameBound), trace.columns
    place = bisect_right(steps, at)
    bindings = (steps[before] for before in range(place - 1, max(place - 1 - BINDINGS_LOOKED_AT, -1), -1))
    found: dict[int, int] = {}
    for step in bindings:
        found.setdefault(columns.names[step], columns.tensors[step])
    return _met(trace, at, _with_gradients(trace, found.values(), at))


def results_of(trace: Trace, at: int, end: int) -> list[int]:
    """Return the tensors that a step produces until another one, the latest first: those that a line assigns to
    variables, or those that the kernel of a call returns.
    """
    if isinstance(trace[at], ev.Dispatched):
        last = [trace[step] for step in between(trace, ev.KernelReturned, at, end)[-1:]]
        return _met(
            trace, end, (tensor for each in last if isinstance(each, ev.KernelReturned) for tensor in each.tensors)
        )
    bound = islice(reversed(between(trace, ev.NameBound, at, end)), BINDINGS_LOOKED_AT)
    own = (step for step in bound if (line := around(trace, step, ev.SourceLine)) is not None and line.seq == at)
    return _met(trace, end, (trace.columns.tensors[step] for step in own))


def _with_gradients(trace: Trace, tensors: Iterable[int], at: int) -> Iterator[int]:
    gradients = index(trace).gradients
    for tensor in tensors:
        yield tensor
        if (gradient := latest(gradients.get(tensor, ()), at)) is not None:
            yield gradient


def _met(trace: Trace, at: int, tensors: Iterable[int]) -> list[int]:
    """Return each tensor once, without Python numbers and without tensors that the trace does not have yet."""
    known = index(trace).tensors
    made = ((tensor, known.get(tensor)) for tensor in dict.fromkeys(tensors))
    return [tensor for tensor, event in made if event is not None and event.seq <= at and not event.wrapped_number]


def _named(event: ev.AnyEvent) -> Iterator[int]:
    one, many = _fields(type(event))
    for field in one:
        value = getattr(event, field)
        if isinstance(value, int) and not _other_number(event, field):
            yield value
    for field in many:
        value = getattr(event, field)
        if isinstance(value, tuple):
            yield from (number for number in value if isinstance(number, int))
    if isinstance(event, ev.BindingEntered):
        yield from (int(number) for _, text in event.arguments for number in _NUMBERED.findall(text))
    elif isinstance(event, ev.KeySetComputed):
        yield from (tensor for _, tensor, _ in event.arguments)
    elif isinstance(event, ev.EdgesCollected):
        yield from (tensor for _, tensor in event.inputs if tensor is not None)


@cache
def _fields(kind: type[ev.AnyEvent]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields of a kind of event that contain the number of a tensor, and those that contain several."""
    there = kind.__struct_fields__
    return tuple(field for field in ONE if field in there), tuple(field for field in MANY if field in there)


def _other_number(event: ev.AnyEvent, field: str) -> bool:
    """Return whether a field is not a tensor. ``before`` and ``after`` are tensors in one kind of event, and versions
    or key sets in others.
    """
    return field in ("before", "after") and not isinstance(event, ev.GradientReduced)


def _of_call(trace: Trace, at: int) -> Iterator[int]:
    """Yield the arguments of the dispatch around a step."""
    yield from parameters_of(trace, at)


def parameters_of(trace: Trace, at: int) -> dict[int, str]:
    """Return the arguments of the dispatch around a step, each with the first parameter that it is passed for:
    ``self``.
    """
    computed = arguments(trace, at) if trace.steps_of(ev.KeySetComputed) else None
    found: dict[int, str] = {}
    for name, tensor, _ in () if computed is None else computed.arguments:
        found.setdefault(tensor, name)
    return found


def _of_node(trace: Trace, at: int) -> Iterator[int]:
    """Yield the gradients that the running Node receives, and its saved tensors."""
    node = at_or_around(trace, at, ev.NodeStarted) if trace.steps_of(ev.NodeStarted) else None
    if node is None:
        return
    yield from (tensor for tensor in node.gradients if tensor is not None)
    about, columns = trace.columns.of_node.get(node.node, ()), trace.columns
    until, saved = bisect_right(about, at), columns.code(ev.VariableSaved)
    latest = about[max(until - NODE_LOOKED_AT, 0) : until]
    yield from (columns.tensors[step] for step in latest if columns.kinds[step] == saved and columns.tensors[step] >= 0)
