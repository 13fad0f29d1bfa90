"""Sentences of the end of Nodes."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.foundation.english import capital


def why(trace: Trace, event: ev.NodeDeleted) -> Statement:
    """The last reference is gone, an edge or anything else."""
    node = capital(node_title(trace, event.node, event.seq))
    saved = ", with what it saved" if _still_saves(trace, event) else ""
    if event.by is None:
        return Statement("Node freed", f"{node} is freed{saved}: nothing refers to it any more.")
    last = f"the last reference to it was an edge of {node_title(trace, event.by, event.seq)}, which is freed too"
    return Statement("Node freed with another", f"{node} is freed{saved}: {last}.")


def _still_saves(trace: Trace, event: ev.NodeDeleted) -> bool:
    events = history(trace).events
    saved = any(variable.tensor is not None for variable in events.of_node(event.node, ev.VariableSaved))
    return saved and not events.of_node(event.node, ev.VariablesReleased)
