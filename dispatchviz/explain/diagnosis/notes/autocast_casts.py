"""A note on autocast: the arguments that each call casts, and the casts that come from the cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.notes.note import Note, result_of
from dispatchviz.explain.diagnosis.words import arguments_of, base_name, last_name, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.call_chains import inner_calls
from dispatchviz.explain.trace_index.enclosing_steps import within
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import counted, listed, plain_dtype

LOOKED_AT, NAMED = 50, 4
"""The number of calls that are read, and the number that are named."""


class Casting(NamedTuple):
    """A call that reached the Autocast key."""

    call: ev.Dispatched
    cast: tuple[tuple[int, str], ...]
    """The arguments that were cast, with the new dtype."""
    cached: tuple[int, ...]
    """The arguments for which the cast of an earlier call was used again."""
    gives: str
    """The dtype of its result, if it differs from that of its first argument and nothing was cast."""


def autocast_casts(trace: Trace) -> Iterator[Note]:
    """Yield a note on the calls of the program that cast, with their casts and the casts from the cache."""
    found = list(islice(_castings(trace), LOOKED_AT))
    first = next((each for each in found if each.cast), None)
    if first is None:
        return
    texts = list(dict.fromkeys(_clause(trace, each) for each in found if each.cast or each.cached or each.gives))
    more = f"; and {counted(len(texts) - NAMED, 'more call')}" if len(texts) > NAMED else ""
    cached = any(each.cached for each in found)
    rule = (
        " The cache keeps the casts of float32 leaves that require grad until the outermost autocast ends."
        if cached
        else ""
    )
    text = f"Autocast casts arguments, not the model: {'; '.join(texts[:NAMED])}{more}.{rule}"
    yield Note(first.call.seq, Statement("casts of autocast", text))


def _castings(trace: Trace) -> Iterator[Casting]:
    """Yield the calls whose highest key is an Autocast key, in order."""
    steps = sorted(step for _, key, steps in trace.columns.calls() if key.startswith("Autocast") for step in steps)
    made: dict[int, int] = {}
    for step in steps[:LOOKED_AT]:
        call = trace[step]
        if isinstance(call, ev.Dispatched):
            yield _casting(trace, call, made)


def _casting(trace: Trace, call: ev.Dispatched, made: dict[int, int]) -> Casting:
    """Return the casts of a call. ``made`` has the casts of earlier calls, and those of this one are added."""
    inner = list(inner_calls(trace, call.seq))
    casts = dict(pair for each in inner if base_name(each) in ("to", "_to_copy") if (pair := _cast(trace, each)))
    again = next((each for each in inner if each.operator == call.operator), None)
    used = set(arguments_of(trace, again)) if again is not None else set()
    own = arguments_of(trace, call)
    cached = tuple(each for each in own if each not in casts and made.get(each) in used)
    made.update(casts)
    dtypes = tuple((each, plain_dtype(index(trace).tensors[cast].dtype)) for each, cast in casts.items())
    order = {each: place for place, each in enumerate(own)}
    gives = "" if casts or cached else _other_dtype(trace, call, own)
    return Casting(call, tuple(sorted(dtypes, key=lambda pair: order.get(pair[0], len(own)))), cached, gives)


def _other_dtype(trace: Trace, call: ev.Dispatched, own: Sequence[int]) -> str:
    """Return the new dtype, such as ``float32`` for a softmax that gets float16, because autocast passes it the
    dtype.
    """
    result = result_of(trace, call.seq)
    before, after = (
        index(trace).tensors.get(each) for each in (own[0] if own else -1, -1 if result is None else result)
    )
    differ = before is not None and after is not None and before.dtype != after.dtype and "float" in after.dtype
    return plain_dtype(after.dtype) if differ and after is not None else ""


def _cast(trace: Trace, call: ev.Dispatched) -> tuple[int, int] | None:
    """Return the argument of a cast and its result."""
    last, computed = trace[trace.ends[call.seq]], within(trace, call.seq, ev.KeySetComputed)
    if computed is None or not computed.arguments or not isinstance(last, ev.KernelReturned) or not last.tensors:
        return None
    before, after = computed.arguments[0][1], last.tensors[0]
    known = index(trace).tensors
    return (before, after) if before != after and after in known else None


def _clause(trace: Trace, one: Casting) -> str:
    """Return ``linear on line 6 casts x and net.weight to float16``"""
    where = on_line(trace, one.call.seq, text=False)
    begin = f"{base_name(one.call)} on {where}" if where else base_name(one.call)
    parts = []
    for dtype in dict.fromkeys(dtype for _, dtype in one.cast):
        parts.append(f"casts {_names(trace, one, [each for each, to in one.cast if to == dtype])} to {dtype}")
    if one.cached:
        parts.append(f"takes the cast{'s' * (len(one.cached) > 1)} of {_names(trace, one, one.cached)} from the cache")
    if one.gives:
        parts.append(f"computes {one.gives} from {_names(trace, one, arguments_of(trace, one.call)[:1])}")
    return f"{begin} {' and '.join(parts)}"


def _names(trace: Trace, one: Casting, tensors: Iterable[int]) -> str:
    return listed([last_name(trace, each, one.call.seq) for each in tensors])
