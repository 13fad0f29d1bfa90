"""The way of a call from key to key: the keys at which its operator runs, and the operators that a composite kernel
calls.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple
from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.keys.key_text import is_backend
from dispatchviz.explain.trace_index.enclosing_steps import within
from dispatchviz.explain.trace_index.folded_steps import profiler_calls
from dispatchviz.explain.trace_index.lookups import between

COMPOSITE: tuple[ev.CellReason, ...] = ("math kernel", "nested kernel", "batched kernel")
"""The reasons for which a dispatch table entry holds a composite kernel, which calls other operators that have their
own derivatives.
"""


class Chain(NamedTuple):
    """A call and the calls that pass it on."""

    operator: str
    """The operator as the program called it: ``aten::reshape``."""
    keys: tuple[str, ...]
    """The keys at which it runs, in order; never empty."""
    composite: bool
    """True if a composite kernel ends the chain."""
    parts: tuple[str, ...]
    """The operators that the last kernel calls, each once. Empty for a backend's kernel, which does the work itself."""


def call_chain(trace: Trace, step: int) -> Chain | None:
    """Return the chain of the call at a step, or None if the step is not a call."""
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
    """Yield the call, and each call that passes it on to the next key."""
    link: ev.Dispatched | None = call
    while link is not None:
        yield link
        link = _passed_on(trace, link)


def _passed_on(trace: Trace, call: ev.Dispatched) -> ev.Dispatched | None:
    """Return the redispatch that a kernel makes, or its new call of the same operator, which autocast and functorch
    make.

    A backend's kernel does the work, so its calls of the same operator are a part of that work.
    """
    if _is_composite(trace, call):
        return None
    again = (each for each in inner_calls(trace, call.seq) if each.operator == call.operator)
    return next((each for each in again if each.is_redispatch or not is_backend(call.key)), None)


def _is_composite(trace: Trace, call: ev.Dispatched) -> bool:
    selected = within(trace, call.seq, ev.KernelSelected)
    return selected is not None and selected.reason in COMPOSITE


def inner_calls(trace: Trace, step: int) -> Iterator[ev.Dispatched]:
    """Yield the calls that the kernel of a call makes itself."""
    calls = (trace[inner] for inner in outermost(trace, step + 1, trace.ends[step]))
    return (call for call in calls if isinstance(call, ev.Dispatched))


def outermost(trace: Trace, begin: int, end: int) -> Iterator[int]:
    """Yield the calls between two steps that are not in another call, a run of the engine, or printing.

    The columns show it: the steps within a step are skipped, and no event is decoded.
    """
    calls, *others = (list(between(trace, kind, begin, end)) for kind in (ev.Dispatched, *_AROUND))
    around = frozenset(chain(*others))
    ends, last = trace.ends, -1
    for step in sorted(chain(calls, around)):
        if step <= last:
            continue
        if step not in around:
            yield step
        last = ends[step]


_AROUND = (ev.BackwardStarted, ev.TensorFormatted)
"""The kinds of events that hide the calls within them."""

_OUTERMOST: WeakKeyDictionary[Trace, array[int]] = WeakKeyDictionary()


def outermost_calls(trace: Trace) -> array[int]:
    """Return the calls of operators that are not in another call, a run of the engine, or printing, without those of
    the profiler.
    """
    known = _OUTERMOST.get(trace)
    if known is None:
        profilers = frozenset(profiler_calls(trace))
        calls = (step for step in outermost(trace, 0, len(trace) - 1) if step not in profilers)
        known = _OUTERMOST[trace] = array("i", calls)
    return known
