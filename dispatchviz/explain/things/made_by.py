"""The maker of a tensor or Node in a word: a call, the user's own Function, a binding or a Node."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.things.calls_around import calls_around, plain
from dispatchviz.explain.trace_index.display_names import node_title


def by(trace: Trace, seq: int) -> str:
    """Return the innermost call around a step, else the function or the Node; empty if there is none."""
    call = next(calls_around(trace, seq), None)
    return without_call(trace, seq) if call is None else plain(call)


def without_call(trace: Trace, seq: int) -> str:
    """Return the maker if there is no call around: a Node, a binding or a Function; empty if there is none."""
    for event in trace.ancestors(seq):
        if isinstance(event, ev.NodeStarted):
            return node_title(trace, event.node, seq)
        if isinstance(event, ev.BindingEntered | ev.FunctionEntered):
            return event.function
        if isinstance(event, ev.SourceLine):
            break
    return ""
