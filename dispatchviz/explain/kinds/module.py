"""Calls of modules (``torch.nn.Module``)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.kind import Kind, Known, Rule
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.call_chains import outermost_calls
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.explain.trace_index.lookups import between, created_nodes
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed, numbered


def module_title(trace: Trace, event: ev.ModuleCalled) -> str:
    """``net.0 (Linear)``; the class alone of a module without a name."""
    return f"{index(trace).shown_module(event.name)} ({event.kind})" if event.name else event.kind


def module_row(trace: Trace, event: ev.ModuleCalled) -> str:
    """``net.0  Linear``, the same in two columns."""
    return f"{index(trace).shown_module(event.name)}  {event.kind}" if event.name else event.kind


def _label(trace: Trace, event: ev.ModuleCalled) -> str:
    calls, nodes = _taken(trace, event)
    return f"{module_row(trace, event)}  ({numbered(calls, 'operator call')}, {numbered(nodes, 'Node')})"


def _taken(trace: Trace, event: ev.ModuleCalled) -> tuple[int, int]:
    """The number of operator calls and of recorded Nodes until a call of a module returns."""
    end, calls = trace.ends[event.seq], outermost_calls(trace)
    made = created_nodes(trace, event.seq, end)
    if trace.header.only:  # older Nodes appear where the recorded part first meets them
        made = (step for step in made if not getattr(trace[step], "known", False))
    return bisect_right(calls, end) - bisect_left(calls, event.seq), sum(1 for _ in made)


def _why(trace: Trace, event: ev.ModuleCalled) -> Statement:
    """The caller of the module, and the number of calls, Nodes and modules until it returns."""
    outer, (calls, nodes) = around(trace, event.seq, ev.ModuleCalled), _taken(trace, event)
    inner = len(between(trace, ev.ModuleCalled, event.seq + 1, trace.ends[event.seq]))
    caller = "The program" if outer is None else module_title(trace, outer)
    parts = [f"makes {numbered(calls, 'operator call')}", f"records {numbered(nodes, 'Node')}"]
    text = listed(parts + [f"runs {numbered(inner, 'other module')}"] * bool(inner))
    return Statement("module called", f"{caller} calls {module_title(trace, event)}. Until it returns, it {text}.")


MODULE_KINDS = Kind(
    ev.ModuleCalled,
    group="program",
    label=_label,
    why=_why,
    rule=Rule(
        "Calling a module runs its forward pre-hooks, then its forward, then its forward hooks.",
        "Module._call_impl",
        "torch/nn/modules/module.py",
    ),
    known=Known("observed", "Module.__call__ is called"),
    level="lines",
    panes=("source", "calls"),
)
