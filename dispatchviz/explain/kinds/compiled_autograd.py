"""Compiled autograd: backward passes that it runs, and the functions of Nodes that it calls for a graph."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.kind import Kind, Known, Rule
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.foundation.english import listed


def _captured_node(trace: Trace, event: ev.NodeCaptured) -> Statement:
    if event.function == "compiled_args":
        are = "is an input" if len(event.content) == 1 else "are inputs"
        inputs = f" Of this, {listed(event.content)} {are} of the graph." if event.content else ""
        text = f"The function compiled_args of {event.name} collects its state for the key of the graph.{inputs}"
        return Statement("compiled_args", text)
    added = f"adds {listed(event.content)} to the graph" if event.content else "adds nothing to the graph"
    text = f"The function apply_with_saved of {event.name} runs the Node with proxies, which {added}."
    return Statement("apply_with_saved", text)


COMPILED_AUTOGRAD_KINDS = Kind(
    ev.BackwardCompiled,
    group="engine",
    label=lambda trace, event: "backward with compiled autograd",
    why=lambda trace, event: Statement(
        "backward with compiled autograd",
        "Compiled autograd runs this backward. It looks for a graph that it has captured for the same Nodes and"
        " state. If there is none, it captures one.",
    ),
    rule=Rule(
        "Compiled autograd takes the place of the engine's loop over the Nodes.",
        "_compiled_autograd_impl",
        "torch/csrc/dynamo/python_compiled_autograd.cpp",
    ),
    known=Known("observed", "Python calls the engine while compiled autograd is on"),
    level="lines",
    panes=("compiler", "source"),
) | Kind(
    ev.NodeCaptured,
    group="engine",
    label=lambda trace, event: f"{event.function} of {event.name}",
    why=_captured_node,
    rule=Rule(
        "All Nodes are asked for their state with compiled_args before the first one runs with apply_with_saved.",
        "_compiled_autograd_impl",
        "torch/csrc/dynamo/python_compiled_autograd.cpp",
    ),
    known=Known("derived", "from begin_capture and set_node_origin, which C++ calls, and from the captured graph"),
    level="lines",
    panes=("compiler", "source"),
)
