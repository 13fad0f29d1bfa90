"""Follow a call from key to key: where its operator runs, and what a composite kernel calls in its place."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from heapq import merge
from typing import NamedTuple
from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.keys.key_text import is_backend
from dispatchviz.explain.trace_index.enclosing_steps import within
from dispatchviz.explain.trace_index.folded_steps import profiler_calls
from dispatchviz.explain.trace_index.lookups import between

COMPOSITE: tuple[ev.CellReason, ...] = ("math kernel", "nested kernel", "batched kernel")
"""Why a cell holds a composite kernel: one that calls other operators, which bring their own derivatives."""


class Chain(NamedTuple):
    """A call and the calls that pass it on."""

    operator: str
    """As the program called it: ``aten::reshape``."""
    keys: tuple[str, ...]
    """The keys at which it runs, in order; never empty."""
    composite: bool
    """A composite kernel ends the chain."""
    parts: tuple[str, ...]
    """The operators that the last kernel calls, each once; none of a backend's kernel, which does the work itself."""


def call_chain(trace: Trace, step: int) -> Chain | None:
    """The chain of the call at a step; None if the step is no call."""
    call = trace[step]
    if not isinstance(call, ev.Dispatched):
        return None
    links = list(_links(trace, call))
    last = links[-1]
    composite = _is_composite(trace, last)
    parts = inner_calls(trace, last.seq) if composite or not is_backend(last.key) else ()
    names = tuple(dict.fromkeys(part.operator for part in parts))
    return Chain(call.operator, tuple(link.key for link in links), composite, names)


def _links(trace: Trace, call: ev.Dispatched) -> Iterator[ev.Dispatched]:
    """The call, and each call that passes it on to the next key."""
    link: ev.Dispatched | None = call
    while link is not None:
        yield link
        link = _passed_on(trace, link)


def _passed_on(trace: Trace, call: ev.Dispatched) -> ev.Dispatched | None:
    """The redispatch that a kernel makes, or its new call of the same operator, as autocast and functorch make it.

    The kernel of a backend does the work: if it calls its operator again, that is a part of its work.
    """
    if _is_composite(trace, call):
        return None
    again = (each for each in inner_calls(trace, call.seq) if each.operator == call.operator)
    return next((each for each in again if each.how.startswith("redispatch") or not is_backend(call.key)), None)


def _is_composite(trace: Trace, call: ev.Dispatched) -> bool:
    selected = within(trace, call.seq, ev.KernelSelected)
    return selected is not None and selected.reason in COMPOSITE


def inner_calls(trace: Trace, step: int) -> Iterator[ev.Dispatched]:
    """The calls that the kernel of a call makes itself."""
    calls = (trace[inner] for inner in outermost(trace, step + 1, trace.ends[step]))
    return (call for call in calls if isinstance(call, ev.Dispatched))


def outermost(trace: Trace, begin: int, end: int) -> Iterator[int]:
    """The calls between two steps that are in no other call there, in no run of the engine and in no printing.

    One pass over the columns: no event is read.
    """
    kinds, ends, call = trace.columns.kinds, trace.ends, trace.columns.code(ev.Dispatched)
    around = (ev.BackwardStarted, ev.TensorFormatted)
    last = -1
    for step in merge(*(between(trace, kind, begin, end) for kind in (ev.Dispatched, *around))):
        if step > last:
            last = ends[step]
            if kinds[step] == call:
                yield step


_OUTERMOST: WeakKeyDictionary[Trace, array[int]] = WeakKeyDictionary()


def outermost_calls(trace: Trace) -> array[int]:
    """The calls of operators that are in no other call, in no run of the engine and in no printing, without the
    profiler's."""
    known = _OUTERMOST.get(trace)
    if known is None:
        profilers = frozenset(profiler_calls(trace))
        calls = (step for step in outermost(trace, 0, len(trace) - 1) if step not in profilers)
        known = _OUTERMOST[trace] = array("i", calls)
    return known
