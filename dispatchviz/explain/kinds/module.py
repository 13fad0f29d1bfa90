"""Calls of modules (``torch.nn.Module``)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.kind import Kind, Known, Rule
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.call_chains import outermost_calls
from dispatchviz.explain.trace_index.lookups import between, created_nodes
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import counted, numbered


def module_title(trace: Trace, event: ev.ModuleCalled) -> str:
    """``net.0 (Linear)``; the class alone of a module without a name."""
    return f"{index(trace).shown_module(event.name)} ({event.kind})" if event.name else event.kind


def module_row(trace: Trace, event: ev.ModuleCalled) -> str:
    """``net.0  Linear``, the same in two columns."""
    return f"{index(trace).shown_module(event.name)}  {event.kind}" if event.name else event.kind


def _label(trace: Trace, event: ev.ModuleCalled) -> str:
    return f"{module_row(trace, event)}  ({_taken(trace, event, ', ')})"


def _taken(trace: Trace, event: ev.ModuleCalled, joined: str) -> str:
    """``22 operator calls, 47 Nodes``."""
    end, calls = trace.ends[event.seq], outermost_calls(trace)
    made = bisect_right(calls, end) - bisect_left(calls, event.seq)
    nodes = sum(1 for _ in created_nodes(trace, event.seq, end))
    return f"{numbered(made, 'operator call')}{joined}{numbered(nodes, 'Node')}"


def _why(trace: Trace, event: ev.ModuleCalled) -> Statement:
    """What a call of a module takes, and the modules that it calls in turn."""
    inner = len(between(trace, ev.ModuleCalled, event.seq + 1, trace.ends[event.seq]))
    parts = f" It calls {counted(inner, 'module')} within." if inner else ""
    text = f"The program calls {module_title(trace, event)}: {_taken(trace, event, ' and ')} until it returns.{parts}"
    return Statement("module called", text)


MODULE_KINDS = Kind(
    ev.ModuleCalled,
    group="program",
    label=_label,
    why=_why,
    rule=Rule(
        "Calling a module runs its forward pre-hooks, its forward, then its forward hooks.",
        "Module._call_impl",
        "torch/nn/modules/module.py",
    ),
    known=Known("observed", "Module.__call__ is called"),
    level="lines",
    panes=("source", "calls"),
)
