"""The calls that return a copy or a view, depending on strides: ``reshape`` and similar operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.keys.key_set import DispatchKeySet
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.arguments import argument
from dispatchviz.explain.diagnosis.notes.note import Note, result_of
from dispatchviz.explain.diagnosis.silent.calls import Call, outermost_calls
from dispatchviz.explain.diagnosis.words import last_name, on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.enclosing_steps import source_line, source_text
from dispatchviz.explain.trace_index.lookups import between
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import counted, shaped

EITHER = frozenset(("reshape", "flatten", "ravel", "reshape_as"))
"""The operators that return a view if the strides allow it, and otherwise a copy."""

COPY, VIEW = frozenset(("clone", "_reshape_copy")), frozenset(("view", "_reshape_alias"))
"""The operators that they call to copy, or to make a view. The strides decide which one."""

WRAPPERS = (
    DispatchKey.Functionalize,
    DispatchKey.FuncTorchBatched,
    DispatchKey.FuncTorchGradWrapper,
    DispatchKey.Python,
)
"""The keys of tensors that wrap others."""

LOOKED_AT, NAMED = 200, 3


class Made(NamedTuple):
    """A call that copies or makes a view."""

    call: Call
    result: int
    copies: bool


def copies(trace: Trace) -> Iterator[Note]:
    """Yield a note on the program's own calls that may copy, if one of them copies and there is no backward
    pass.
    """
    if trace.steps_of(ev.BackwardStarted):
        return
    calls = zip(range(LOOKED_AT), outermost_calls(trace, EITHER.__contains__), strict=False)
    found = [made for _, call in calls if (made := _made(trace, call)) is not None]
    first = next((each for each in found if each.copies), None)
    if first is not None:
        texts = list(dict.fromkeys(_clause(trace, each) for each in found))
        more = f"; and {counted(len(texts) - NAMED, 'more call')}" if len(texts) > NAMED else ""
        text = f"{'; '.join(texts[:NAMED])}{more}."
        yield Note(first.call.seq, Statement("copy or view", text))


def _made(trace: Trace, call: Call) -> Made | None:
    """Return a call on the line itself, or None if the recording does not show whether it copied."""
    line, result = source_line(trace, call.seq), result_of(trace, call.seq)
    written = line is not None and f"{call.name}(" in source_text(trace, line)
    if not written or result is None or not call.tensors or _is_wrapped(call):
        return None
    inner = set(_inner(trace, call))
    copied, viewed = bool(inner & COPY), bool(inner & VIEW) or result == call.tensors[0]
    return Made(call, result, copied) if copied or viewed else None


def _is_wrapped(call: Call) -> bool:
    """Return whether an argument is a wrapper of another tensor, which has its own strides."""
    keys = [DispatchKeySet.from_raw_repr(raw) for _, _, raw in call.computed.arguments]
    return any(each.has(wrapper) for each in keys for wrapper in WRAPPERS)


def _inner(trace: Trace, call: Call) -> Iterator[str]:
    """Yield the operators that it calls."""
    columns = trace.columns
    for step in between(trace, ev.Dispatched, call.seq + 1, trace.ends[call.seq]):
        yield columns.operator_names[columns.operators[step]].partition("::")[2].partition(".")[0]


def _clause(trace: Trace, one: Made) -> str:
    """Return a clause: ``reshape on line 5 copies a.T: ...``"""
    at, tensor = one.call.seq, one.call.tensors[0]
    name, where = last_name(trace, tensor, at), on_line(trace, at, text=False)
    if not one.copies:
        same = one.result == tensor
        return f"{one.call.name} on {where} gives {'' if same else 'a view of '}{name}{' itself' if same else ''}"
    found, target = argument(trace, tensor, at), index(trace).shape(one.result, trace.ends[at])
    if found is None or target is None:
        return f"{one.call.name} on {where} copies {name}"
    return (
        f"{one.call.name} on {where} copies {name}: its sizes {shaped(found.shape)} and strides "
        f"{shaped(found.stride)} allow no view of sizes {shaped(target)}"
    )
